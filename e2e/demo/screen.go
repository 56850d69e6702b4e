package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	// column is where durations end.
	column = 92
	// redraw is how often a line that waits is drawn again.
	redraw = 100 * time.Millisecond
	// quiet is how long a step may take before what is not a terminal is told of its progress.
	quiet = 15 * time.Second
)

// Colours, as ANSI select graphic rendition.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// screen is where the story is told: with colours and a line that lives on a terminal, in plain
// lines elsewhere.
type screen struct {
	out      io.Writer
	terminal *os.File // nil if out is none
	colours  bool

	mu     sync.Mutex
	detail string
	last   time.Time
}

func newScreen(out *os.File) *screen {
	s := &screen{out: out, last: time.Now()}
	if term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb" {
		s.terminal = out
		s.colours = os.Getenv("NO_COLOR") == ""
	}
	return s
}

// Heading begins a part of the story.
func (s *screen) Heading(text string) { s.Line("\n" + s.paint(bold, text)) }

// Note tells more about what was done last.
func (s *screen) Note(text string) { s.Line("    " + text) }

// Command shows what a person would type.
func (s *screen) Command(command string) { s.Line("    " + s.paint(dim, "$ "+command)) }

// Figure is a line of the summary.
func (s *screen) Figure(what string, took time.Duration) { s.Line(timed("  "+what, took)) }

// Failure ends a story that went wrong.
func (s *screen) Failure(err error, logs string) {
	s.Line("\n" + s.paint(red, "The demo failed: ") + err.Error())
	if _, err := os.Stat(logs); err == nil {
		s.Line("Look at " + logs + " for more.")
	}
}

// Line prints a line.
func (s *screen) Line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	s.print(text + "\n")
}

// done is what a piece of work came to.
type done struct {
	text string
	// took is shown with it; if 0, how long the work took.
	took time.Duration
}

// Do shows a piece of work while it goes on, and then what it came to.
func (s *screen) Do(doing string, work func() (done, error)) error {
	start := time.Now()
	stop := s.follow(doing, start)
	result, err := work()
	stop()
	if err != nil {
		s.Line(timed(s.paint(red, "  ✗ ")+doing, time.Since(start)))
		return err
	}
	if result.took == 0 {
		result.took = time.Since(start)
	}
	s.Line(timed(s.paint(green, "  ✓ ")+result.text, result.took))
	return nil
}

// Write takes progress of the work that goes on. A terminal shows it in the living line; elsewhere
// it is told when it has been quiet for a while.
func (s *screen) Write(progress []byte) (int, error) {
	text := strings.TrimSpace(string(progress))
	s.mu.Lock()
	s.detail = text
	tell := s.terminal == nil && time.Since(s.last) > quiet
	s.mu.Unlock()
	if tell {
		s.Note(text)
	}
	return len(progress), nil
}

// follow keeps a line alive on a terminal until the returned function is called.
func (s *screen) follow(doing string, start time.Time) (stop func()) {
	s.mu.Lock()
	s.detail = ""
	s.mu.Unlock()
	if s.terminal == nil {
		return func() {}
	}
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(redraw)
		defer ticker.Stop()
		for frame := 0; ; frame++ {
			s.draw(doing, start, frame)
			select {
			case <-ticker.C:
			case <-ended:
				s.print(clearLine)
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}
}

// clearLine goes to the line's start and empties it.
const clearLine = "\r\x1b[K"

func (s *screen) draw(doing string, start time.Time, frame int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	text := fmt.Sprintf("  %c %s  %s", frames[frame%len(frames)], doing, seconds(time.Since(start)))
	if room := s.width() - utf8.RuneCountInString(text) - 3; s.detail != "" && room > 0 {
		text += "  " + s.paint(dim, cut(s.detail, room))
	}
	s.print(clearLine + text)
}

// print does not mind a screen that is gone: the story goes on, and cleans up.
func (s *screen) print(text string) { _, _ = io.WriteString(s.out, text) }

// width is that of the terminal; without one, no line is too long.
func (s *screen) width() int {
	if s.terminal == nil {
		return 1 << 16
	}
	width, _, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

func (s *screen) paint(colour, text string) string {
	if !s.colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// timed puts a duration at the end of a line.
func timed(text string, took time.Duration) string {
	visible := text
	for _, colour := range []string{red, green, "0"} {
		visible = strings.ReplaceAll(visible, "\x1b["+colour+"m", "")
	}
	end := duration(took)
	gap := max(2, column-utf8.RuneCountInString(visible)-len(end))
	return text + strings.Repeat(" ", gap) + end
}

func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return seconds(d)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// cut shortens a line to a number of characters.
func cut(line string, characters int) string {
	runes := []rune(line)
	if len(runes) <= characters {
		return line
	}
	return string(runes[:max(0, characters-1)]) + "…"
}

// Table shows lines that are cut at the terminal's edge rather than wrapped.
func (s *screen) Table(text string) {
	for line := range strings.Lines(text) {
		s.Line(cut("    "+strings.TrimRight(line, " \n"), s.width()))
	}
}
