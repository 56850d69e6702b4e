package localfleet

import (
	"bytes"
	"io"
	"testing"
)

func TestOnlyATerminalIsToldWhatTheNextLineReplaces(t *testing.T) {
	for name, test := range map[string]struct {
		writer func(io.Writer) *lineWriter
		want   string
	}{
		"a file":     {newLineWriter, "building\nbuilt\n"},
		"a terminal": {func(out io.Writer) *lineWriter { return &lineWriter{out: out, transient: true, terminal: true} }, "\x1b[Kbuilding\n\x1b[Kbuilding, 1s\r\x1b[Kbuilt\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			lines := test.writer(&out)
			for _, line := range []string{"building\n", "building, 1s\r", "built\n"} {
				if n, err := io.WriteString(lines, line); n != len(line) || err != nil {
					t.Errorf("Write() = %d, %v", n, err)
				}
			}
			if out.String() != test.want {
				t.Errorf("written %q, want %q", out.String(), test.want)
			}
		})
	}
}
