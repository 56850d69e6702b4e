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
	kind     editKind
	clusters []siteCluster
	floors   []*floor.Corrector
	loops    *errgroup.Group
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

	cluster, err := b.openSiteCluster(ctx, i)
	if err != nil {
		return err
	}
	s.clusters = append(s.clusters, cluster)
	return nil
}

func (b *bench) openSiteCluster(ctx context.Context, i int) (siteCluster, error) {
	client, err := kubernetes.NewForConfig(floor.OwnConnection(b.fleet[i].Config()))
	if err != nil {
		return siteCluster{}, err
	}
	observer, err := observe(ctx, b.fleet[i].Config())
	return siteCluster{editor: client, observer: observer}, err
}

// close ends all watches, and returns why a loop of the floor ended before, if one did.
func (s *site) close() error {
	for _, corrector := range s.floors {
		corrector.Stop()
	}
	for _, cluster := range s.clusters {
		cluster.observer.stop()
	}
	return s.loops.Wait()
}

// edit edits one object of Daytwo's and one of the floor's, and returns how long each edit stood.
func (s *site) edit(ctx context.Context, cluster, object int) (ours, bare time.Duration, err error) {
	at := s.clusters[cluster]
	if ours, err = at.timed(ctx, s.kind, namespaced(driftAddon, driftObject(object))); err != nil {
		return 0, 0, fmt.Errorf("edit %d in cluster %d: %w", object, cluster, err)
	}
	if bare, err = at.timed(ctx, s.kind, namespaced(bareDrift, driftObject(object))); err != nil {
		return 0, 0, fmt.Errorf("the floor, edit %d in cluster %d: %w", object, cluster, err)
	}
	return ours, bare, nil
}

// timed edits one object, and returns how long the edit stood.
func (c siteCluster) timed(ctx context.Context, kind editKind, object types.NamespacedName) (time.Duration, error) {
	if err := pause(ctx, editGap); err != nil {
		return 0, err
	}
	c.observer.skip()
	_, err := c.editor.CoreV1().ConfigMaps(object.Namespace).
		Patch(ctx, object.Name, types.MergePatchType, []byte(kind.patch), metav1.PatchOptions{FieldManager: editor})
	acknowledged := time.Now()
	if err != nil {
		return 0, err
	}
	restored, err := c.observer.restored(ctx, object, kind.stands)
	return restored.Sub(acknowledged), err
}
