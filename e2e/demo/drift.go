package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// revertEdits shows that every change by hand is taken back, and that status says whose it was.
func (s *story) revertEdits(ctx context.Context) error {
	for _, e := range s.edits() {
		if err := s.revert(ctx, e); err != nil {
			return fmt.Errorf("%s, %s: %w", e.customer.name, e.tried, err)
		}
	}
	return s.awaitReady(ctx, addonName, s.customers...)
}

func (s *story) revert(ctx context.Context, e edit) error {
	before, err := s.release(ctx, e.addon, e.customer)
	if err != nil {
		return err
	}
	err = s.screen.Do(e.customer.name+": "+e.tried, func() (done, error) {
		took, err := s.measure(ctx, e)
		s.figures.rollbacks = append(s.figures.rollbacks, took)
		return done{e.customer.name + ": " + e.tried + ", and that is taken back", took}, err
	})
	if err != nil {
		return err
	}
	release, err := s.awaitRelease(ctx, e.addon, e.customer, func(release *addonsv1alpha1.AddonRelease) bool {
		return release.Status.Drift.Count > before.Status.Drift.Count
	})
	if err != nil {
		return fmt.Errorf("status does not tell of it: %w", err)
	}
	s.screen.Note("status: " + actor(release.Status.Drift.Corrections[0]))
	s.screen.Command(e.customer.kubectl() + " -n " + e.object.GetNamespace() + " " + e.command)
	return nil
}

// measure makes an edit and returns how long it stood, as seen from outside: from the API server's
// answer to the edit, or the watch that shows it if that is faster, until the watch shows the object
// as declared again.
func (s *story) measure(ctx context.Context, e edit) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	workload, err := s.env.Workload(e.customer.name)
	if err != nil {
		return 0, err
	}
	watcher, err := workload.Watch(ctx, e.list,
		client.InNamespace(e.object.GetNamespace()), client.MatchingFields{"metadata.name": e.object.GetName()})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	if err := workload.Get(ctx, client.ObjectKeyFromObject(e.object), e.object); err != nil {
		return 0, err
	}
	answered := make(chan answer, 1)
	go func() {
		err := e.make(ctx, workload, e.object)
		answered <- answer{time.Now(), err}
		if err != nil {
			cancel() // There is nothing to wait for.
		}
	}()
	made, undone, err := awaitUndone(ctx, watcher, e.declared)
	first := <-answered
	if first.err != nil {
		return 0, fmt.Errorf("make the change: %w", first.err)
	}
	if first.at.Before(made) {
		made = first.at
	}
	return undone.Sub(made), err
}

// answer of the API server to an edit.
type answer struct {
	at  time.Time
	err error
}

// awaitUndone tells when a watch showed an edit, and when it showed that it is gone again.
func awaitUndone(
	ctx context.Context, watcher watch.Interface, declared func(client.Object) bool,
) (made, undone time.Time, err error) {
	for {
		select {
		case <-ctx.Done():
			if made.IsZero() {
				return made, undone, fmt.Errorf("no watch showed the change within %s", patience)
			}
			return made, undone, fmt.Errorf("the change was not taken back within %s: it is still there", patience)
		case event := <-watcher.ResultChan():
			object, ok := event.Object.(client.Object)
			if !ok {
				return made, undone, fmt.Errorf("the watch ended: %v", event.Object)
			}
			asDeclared := event.Type != watch.Deleted && declared(object)
			if made.IsZero() && !asDeclared {
				made = time.Now()
			}
			if !made.IsZero() && asDeclared {
				return made, time.Now(), nil
			}
		}
	}
}

// actor tells of a correction what status knows. Kubernetes does not tell who deleted something.
func actor(c metav1alpha1.DriftCorrection) string {
	text := c.Operation
	if c.Manager != "" {
		text += " by " + c.Manager
	}
	text += ", " + c.Object
	if len(c.Fields) > 0 {
		text += " " + c.Fields[0]
	}
	if more := len(c.Fields) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more fields", more)
	}
	return text
}
