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

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/news"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
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

// watchConsumer takes in what the watch of a kind shows.
type watchConsumer interface {
	// source of the lists and watches.
	source(resources.Resource) source
	// selector of the objects by their labels.
	selector() string
	// fields is a selector of the objects by their fields.
	fields() string
	// list takes in what is there, and returns the resource version to watch from.
	list(context.Context, source) (version string, err error)
	// handle takes in an event. After an error, the kind is listed again.
	handle(watch.Event) error
	// setUnknown is told why the kind cannot be watched, and "" when it can be again.
	setUnknown(reason string)
	// gone is told that the cluster serves the kind no more, when the watch has ended.
	gone()
}

// watchLoop keeps a consumer informed of one kind, until its context ends. It outlives the kind: the backoff of one that
// comes and goes is not reset.
type watchLoop struct {
	cluster  *Cluster
	kind     schema.GroupVersionKind
	consumer watchConsumer
	news     *news.Timer
	retry    wait.Backoff
	// version is where the watch goes on; empty if the kind has to be listed first.
	version string
	// ended is when the kind was found gone last.
	ended time.Time
}

func newWatchLoop(c *Cluster, kind schema.GroupVersionKind, consumer watchConsumer) watchLoop {
	limits := c.connection.fleet.options.Timeouts
	return watchLoop{
		cluster: c, kind: kind, consumer: consumer, retry: watchRetries(limits), news: news.NewTimer(limits.KindPatience, consumer.setUnknown),
	}
}

// watchRetries are the pauses between two attempts to watch a kind.
func watchRetries(limits Timeouts) wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 12, Cap: limits.RetryMax}
}

// run lists and watches until the context ends or the kind is gone. Whatever ends a watch early, the next attempt
// follows after a pause. The pauses grow until a watch lasts for longer than the longest of them.
func (w *watchLoop) run(ctx context.Context) {
	limits := w.cluster.connection.fleet.options.Timeouts
	defer w.news.Stop()
	w.news.Failing("the first list is not complete yet")
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
			w.news.Current()
			w.version, w.ended = "", time.Now()
			w.cluster.Forget(w.kind)
			w.consumer.gone()
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

func (w *watchLoop) pause(ctx context.Context) {
	timer := time.NewTimer(w.retry.Step())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// failed tells of a watch that ended, and lets the connection look whether the cluster still answers.
func (w *watchLoop) failed(err error) {
	w.version = ""
	w.news.Failing(describeWatch(err))
	connection := w.cluster.connection
	connection.fleet.options.Log.V(1).Info("watch ended", "cluster", connection.key, "kind", w.kind.Kind, "reason", err.Error())
	notify(connection.suspicious)
}

// listAndWatch returns nil if the watch ended in time and can go on where it ended. After anything else the kind
// is listed again: the cluster may have been restored from a snapshot, and its versions mean something else now.
func (w *watchLoop) listAndWatch(ctx context.Context) error {
	resource, err := w.cluster.Resource(ctx, w.kind)
	if meta.IsNoMatchError(err) {
		return errKindGone
	}
	if err != nil {
		return err
	}
	source := w.consumer.source(resource)
	if w.version == "" {
		if w.version, err = w.relist(ctx, source); err != nil {
			return w.verifyGone(ctx, err)
		}
	}
	return w.verifyGone(ctx, w.watch(ctx, source))
}

// relist asks the cluster who it is before a list of it is believed.
func (w *watchLoop) relist(ctx context.Context, source source) (string, error) {
	if err := w.cluster.Confirm(ctx); err != nil {
		return "", err
	}
	version, err := w.consumer.list(ctx, source)
	if err != nil {
		return "", fmt.Errorf("list: %w", err)
	}
	return version, nil
}

// verifyGone asks the discovery whether a kind whose requests are answered by 404 is gone.
func (w *watchLoop) verifyGone(ctx context.Context, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	w.cluster.Forget(w.kind)
	if _, discovery := w.cluster.Resource(ctx, w.kind); meta.IsNoMatchError(discovery) {
		return errKindGone
	}
	return err
}

// watch reads events until the watch ends.
func (w *watchLoop) watch(ctx context.Context, source source) error {
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
func (w *watchLoop) open(ctx context.Context, cancel context.CancelFunc, source source, duration time.Duration) (watch.Interface, error) {
	patience := time.AfterFunc(w.cluster.connection.fleet.options.Timeouts.Request, cancel)
	stream, err := source.watch(ctx, metav1.ListOptions{
		LabelSelector: w.consumer.selector(), FieldSelector: w.consumer.fields(), ResourceVersion: w.version, AllowWatchBookmarks: true,
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
func (w *watchLoop) read(ctx context.Context, stream watch.Interface) error {
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
			w.news.Current()
		case event, ok := <-stream.ResultChan():
			if !ok {
				return errEnded
			}
			if err := w.take(event); err != nil {
				return err
			}
			silence.Reset(limits.WatchSilence)
			w.news.Current()
		}
	}
}

// take handles one event, and remembers its version.
func (w *watchLoop) take(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	accessor, err := meta.Accessor(event.Object)
	if err != nil {
		return fmt.Errorf("an event without metadata: %w", err)
	}
	version := accessor.GetResourceVersion()
	if tracker.IsOlder(version, w.version) {
		return errBackwards
	}
	w.version = version
	if event.Type == watch.Bookmark {
		return nil
	}
	return w.consumer.handle(event)
}
