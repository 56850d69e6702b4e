package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// editor is the field manager of the edits: a person with kubectl.
const editor = "kubectl-edit"

// site is where edits are made and observed, with the floor's loops at work in every cluster.
type site struct {
	kind      editKind
	clusters  []siteCluster
	floors    []*floor.Corrector
	observers []*observer
	loops     *errgroup.Group
}

type siteCluster struct {
	editor   kubernetes.Interface
	observer *observer
}

func (b *bench) openSite(ctx context.Context, kind editKind) (*site, error) {
	s := &site{kind: kind, loops: &errgroup.Group{}}
	for i := range b.fleet {
		if err := s.open(ctx, b, i); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *site) open(ctx context.Context, b *bench, i int) error {
	objects, err := b.bareDriftObjects(i)
	if err != nil {
		return err
	}
	corrector, err := s.kind.correct(b.bare[i], ctx, objects)
	if err != nil {
		return err
	}
	s.floors = append(s.floors, corrector)
	s.loops.Go(func() error { return corrector.Run(ctx) })

	client, err := kubernetes.NewForConfig(floor.OwnConnection(b.fleet[i].Config()))
	if err != nil {
		return err
	}
	observer, err := observe(ctx, b.fleet[i].Config())
	if err != nil {
		return err
	}
	s.observers = append(s.observers, observer)
	s.clusters = append(s.clusters, siteCluster{editor: client, observer: observer})
	return nil
}

// close ends all watches, and returns why a loop of the floor ended before, if one did.
func (s *site) close() error {
	for _, corrector := range s.floors {
		corrector.Stop()
	}
	for _, observer := range s.observers {
		observer.stop()
	}
	return s.loops.Wait()
}

// edit edits one object of Daytwo's and one of the floor's, and returns how long each edit stood.
func (s *site) edit(ctx context.Context, cluster, object int) (ours, bare time.Duration, err error) {
	at := s.clusters[cluster]
	if ours, err = s.timed(ctx, at, namespaced(driftAddon, driftObject(object))); err != nil {
		return 0, 0, fmt.Errorf("edit %d in cluster %d: %w", object, cluster, err)
	}
	if bare, err = s.timed(ctx, at, namespaced(bareDrift, driftObject(object))); err != nil {
		return 0, 0, fmt.Errorf("the floor, edit %d in cluster %d: %w", object, cluster, err)
	}
	return ours, bare, nil
}

func (s *site) timed(ctx context.Context, at siteCluster, object types.NamespacedName) (time.Duration, error) {
	if err := pause(ctx, editGap); err != nil {
		return 0, err
	}
	at.observer.skip()
	_, err := at.editor.CoreV1().ConfigMaps(object.Namespace).
		Patch(ctx, object.Name, types.MergePatchType, []byte(s.kind.patch), metav1.PatchOptions{FieldManager: editor})
	acknowledged := time.Now()
	if err != nil {
		return 0, err
	}
	restored, err := at.observer.restored(ctx, object, s.kind.stands)
	return restored.Sub(acknowledged), err
}
