package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// minWatch is the shortest time after which an API server is asked to end a watch; each one is asked for a
// random time between that and twice as long, as client-go's reflectors do, so that watches do not end together.
const minWatch = 5 * time.Minute

// settleTime is how long a watch must stay open before a kind that was unknown is known again.
const settleTime = 5 * time.Second

var (
	// errKindGone: the cluster serves the kind no more; its definition was removed.
	errKindGone = errors.New("the kind is not served any more")
	// errEnded: the server closed a watch before the time that it was asked for.
	errEnded = errors.New("the server closed the watch")
	// errSilent: a watch is open, and shows neither an event nor a bookmark.
	errSilent = errors.New("the watch is open but silent")
	// errBackwards: what a watch shows is older than what it showed before.
	errBackwards = errors.New("the cluster's resource versions went backwards")
	// errNoAnswer: a watch was not opened in time.
	errNoAnswer = fmt.Errorf("the watch was not opened: %w", context.DeadlineExceeded)
)

// Watch keeps the objects of a kind watched as long as the connection lasts. It returns at once; Tracker.Kind
// tells how far the watch is. meta.IsNoMatchError tells that the cluster does not serve the kind.
func (c *Cluster) Watch(ctx context.Context, kind schema.GroupVersionKind) error {
	if c.isWatching(kind.GroupKind()) {
		return nil
	}
	// A kind that cannot be discovered is looked up again by its watch, which tells of the failure.
	if _, err := c.Resource(ctx, kind); meta.IsNoMatchError(err) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[kind.GroupKind()]
	if w == nil {
		w = newKindWatch(c, kind)
		c.watches[kind.GroupKind()] = w
	}
	if w.running || c.ctx.Err() != nil {
		return nil
	}
	w.running = true
	c.running.Go(func() { w.run(c.ctx) })
	return nil
}

func (c *Cluster) isWatching(kind schema.GroupKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[kind]
	return w != nil && w.running
}

// unwatch forgets a kind that is not served any more, and with it its objects. The next Watch looks for the
// kind again.
func (c *Cluster) unwatch(w *kindWatch) {
	c.forget(w.kind)
	c.mu.Lock()
	w.running = false
	c.mu.Unlock()
	c.Tracker.replace(w.kind.GroupKind(), nil, "", "", c.connection.fleet.clock.Now())
	c.Tracker.retainUnrecorded(w.kind.GroupKind(), nil)
}

// kindWatch keeps the tracker informed of one kind, until its context ends. It outlives the kind: the backoff of
// one that comes and goes is not reset.
type kindWatch struct {
	cluster *Cluster
	kind    schema.GroupVersionKind
	news    *newsTimer
	retry   wait.Backoff
	// running is guarded by the cluster's mutex.
	running bool
	// version is where the watch goes on; empty if the kind has to be listed first.
	version string
	// ended is when the kind was found gone last.
	ended time.Time
}

func newKindWatch(c *Cluster, kind schema.GroupVersionKind) *kindWatch {
	limits := c.connection.fleet.options.Timeouts
	return &kindWatch{
		cluster: c, kind: kind, retry: watchRetries(limits),
		news: newNewsTimer(limits.KindPatience, func(reason string) { c.Tracker.setUnknown(kind.GroupKind(), reason) }),
	}
}

// watchRetries are the pauses between two attempts to watch a kind.
func watchRetries(limits Timeouts) wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 12, Cap: limits.RetryMax}
}

// run lists and watches until the context ends or the kind is gone. Whatever ends a watch early, the next attempt
// follows after a pause. The pauses grow until a watch lasts for longer than the longest of them.
func (w *kindWatch) run(ctx context.Context) {
	limits := w.cluster.connection.fleet.options.Timeouts
	defer w.news.stop()
	w.news.failing("the first list is not complete yet")
	if time.Since(w.ended) < limits.RetryMax {
		w.pause(ctx)
	}
	for ctx.Err() == nil {
		began := time.Now()
		err := w.listAndWatch(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errKindGone):
			w.news.current()
			w.version, w.ended = "", time.Now()
			w.cluster.unwatch(w)
			return
		case time.Since(began) > limits.RetryMax:
			w.retry = watchRetries(limits)
		}
		if err == nil {
			continue
		}
		w.failed(err)
		w.pause(ctx)
	}
}

func (w *kindWatch) pause(ctx context.Context) {
	timer := time.NewTimer(w.retry.Step())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// failed tells of a watch that ended, and lets the connection look whether the cluster still answers.
func (w *kindWatch) failed(err error) {
	w.version = ""
	w.news.failing(describe(err))
	connection := w.cluster.connection
	connection.fleet.options.Log.V(1).Info("watch ended", "cluster", connection.key, "kind", w.kind.Kind, "reason", err.Error())
	poke(connection.suspicious)
}

// listAndWatch returns nil if the watch ended in time and can go on where it ended. After anything else the kind
// is listed again: the cluster may have been restored from a snapshot, and its versions mean something else now.
func (w *kindWatch) listAndWatch(ctx context.Context) error {
	resource, err := w.cluster.Resource(ctx, w.kind)
	if meta.IsNoMatchError(err) {
		return errKindGone
	}
	if err != nil {
		return err
	}
	source := w.cluster.sourceFor(resource)
	if w.version == "" {
		if w.version, err = w.list(ctx, source); err != nil {
			return w.verifyGone(ctx, err)
		}
	}
	return w.verifyGone(ctx, w.watch(ctx, source))
}

// verifyGone asks the discovery whether a kind whose requests are answered by 404 is gone.
func (w *kindWatch) verifyGone(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	w.cluster.forget(w.kind)
	if _, discovery := w.cluster.Resource(ctx, w.kind); meta.IsNoMatchError(discovery) {
		return errKindGone
	}
	return err
}

// watch reads events until the watch ends.
func (w *kindWatch) watch(ctx context.Context, source source) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	duration := minWatch + rand.N(minWatch).Truncate(time.Second)
	opened := time.Now()
	stream, err := w.open(ctx, cancel, source, duration)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer stream.Stop()
	if err := w.read(ctx, stream); !errors.Is(err, errEnded) || time.Since(opened) < duration {
		return fmt.Errorf("watch: %w", err)
	}
	return nil
}

// open waits for the headers of the answer, as long as any request may take.
func (w *kindWatch) open(ctx context.Context, cancel context.CancelFunc, source source, duration time.Duration) (watch.Interface, error) {
	patience := time.AfterFunc(w.cluster.connection.fleet.options.Timeouts.Request, cancel)
	stream, err := source.watch(ctx, metav1.ListOptions{
		LabelSelector: w.selector(), ResourceVersion: w.version, AllowWatchBookmarks: true,
		TimeoutSeconds: ptr.To(int64(duration / time.Second)),
	})
	inTime := patience.Stop()
	switch {
	case err != nil && !inTime:
		return nil, errNoAnswer
	case err != nil:
		return nil, err
	}
	return stream, nil
}

// read hands events on until the stream ends, is silent for too long, or goes backwards.
func (w *kindWatch) read(ctx context.Context, stream watch.Interface) error {
	limits := w.cluster.connection.fleet.options.Timeouts
	silence, settled := time.NewTimer(limits.WatchSilence), time.NewTimer(settleTime)
	defer silence.Stop()
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-silence.C:
			return errSilent
		case <-settled.C:
			w.news.current()
		case event, ok := <-stream.ResultChan():
			if !ok {
				return errEnded
			}
			if err := w.take(event); err != nil {
				return err
			}
			silence.Reset(limits.WatchSilence)
			w.news.current()
		}
	}
}

// take handles one event, and remembers its version.
func (w *kindWatch) take(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	accessor, err := meta.Accessor(event.Object)
	if err != nil {
		return fmt.Errorf("an event without metadata: %w", err)
	}
	version := accessor.GetResourceVersion()
	if isOlder(version, w.version) {
		return errBackwards
	}
	w.version = version
	if event.Type != watch.Bookmark {
		w.handle(event)
	}
	return nil
}

func (w *kindWatch) selector() string {
	return metav1alpha1.LabelManagedBy + "=" + w.cluster.connection.fleet.options.Installation
}
