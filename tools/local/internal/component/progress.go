package component

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

// progressEvery is how often a task that goes on is told of.
const progressEvery = time.Second

// Transient is what a line of progress ends with that the next line may take the place of, as a terminal does. All other
// lines end with a newline: there is one for each change.
const Transient = "\r"

// task is something that takes long, while it goes on.
type task struct {
	build   *build
	doing   string
	started time.Time
	ended   chan struct{}
	stopped chan struct{}
	stop    func()

	mu     sync.Mutex
	detail string
}

// start tells that something began and, until the task is stopped, that it goes on.
func (b *build) start(doing string) *task {
	t := &task{build: b, doing: doing, started: time.Now(), ended: make(chan struct{}), stopped: make(chan struct{})}
	t.stop = sync.OnceFunc(func() {
		close(t.ended)
		<-t.stopped
	})
	b.progressf("%s", doing)
	go t.follow()
	return t
}

func (t *task) follow() {
	defer close(t.stopped)
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.build.tell(t.doing+t.latest()+", "+t.elapsed().String(), Transient)
		case <-t.ended:
			return
		}
	}
}

// update changes what is told beside the time.
func (t *task) update(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detail = detail
}

func (t *task) latest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.detail
}

// done tells that the task succeeded.
func (t *task) done(what string) {
	t.stop()
	t.build.progressf("%s in %s", what, t.elapsed())
}

func (t *task) elapsed() time.Duration { return time.Since(t.started).Round(time.Second) }

// progressf tells something about this build.
func (b *build) progressf(format string, args ...any) { b.tell(fmt.Sprintf(format, args...), "\n") }

// tell does not mind progress that nobody can read any more.
func (b *build) tell(what, end string) {
	_, _ = fmt.Fprintf(b.progress, "%s%s %s: %s%s", b.count, b.name, b.version, what, end)
}

// giveWay lets everything else go first: whoever waits for a build in the background does something meanwhile.
func giveWay(process *os.Process) {
	const priority = 10
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, process.Pid, priority) // It only takes longer for others.
}

// host is that of a URL of the catalog.
func host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Host
}

// megabytes is how many of a million bytes there are.
func megabytes(bytes int64) int64 { return (bytes + 500_000) / 1_000_000 }
