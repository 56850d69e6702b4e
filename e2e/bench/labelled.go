package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

const labelledRow = "labelled_objects_memory"

const (
	// labelledObjects of labelledBytes each are several times what the manager holds.
	labelledObjects = 100
	labelledBytes   = 1 << 20
	// statusEvery is how often the status of one of them is written: less than what the manager reads of a cluster each
	// second.
	statusEvery = 200 * time.Millisecond
	// boxAddon brings the kind, and one object of it.
	boxAddon = "boxes"
	boxName  = "declared"
)

var boxManifests = definition("Box", "boxes") + `---
apiVersion: bench.example.com/v1
kind: Box
metadata: {name: ` + boxName + `}
spec: {color: green}
`

// boxes reads and writes objects of the kind on a connection that is not the manager's.
type boxes struct {
	client dynamic.ResourceInterface
	// installation is the value of their label.
	installation string
}

// labelledObjects measures the manager's memory with many large objects of a kind that it watches whole, which carry our
// label and a status that a program writes all the time, beside the same fleet without them.
func (b *bench) labelledObjects(ctx context.Context) ([]result, error) {
	if err := b.populate(ctx, b.clusters); err != nil {
		return nil, err
	}
	addon := newAddon(boxAddon, boxManifests, 1)
	addon.Spec.ClusterSelector, addon.Spec.ClusterNames = nil, []string{b.fleet[0].Name()}
	if err := b.install(ctx, addon); err != nil {
		return nil, err
	}
	theirs, err := b.newBoxes()
	if err != nil {
		return nil, err
	}
	before, err := b.boxUsage(ctx, theirs)
	if err != nil {
		return nil, err
	}
	if err := theirs.make(ctx); err != nil {
		return nil, err
	}
	during, after, err := b.writeStatuses(ctx, theirs)
	if err != nil {
		return nil, err
	}
	b.progressf("before: %s; with %d objects of 1 MiB, while their status was written: %.0f KiB; afterwards: %s",
		before, labelledObjects, medianUsage(during), after)
	return []result{newResult(labelledRow, "KiB", medianUsage(during), before.total())}, nil
}

func (b *bench) newBoxes() (boxes, error) {
	client, err := dynamic.NewForConfig(floor.OwnConnection(b.fleet[0].Config()))
	if err != nil {
		return boxes{}, err
	}
	kind := schema.GroupVersionResource{Group: benchGroup, Version: "v1", Resource: "boxes"}
	return boxes{client: client.Resource(kind).Namespace(boxAddon), installation: b.installation}, nil
}

// boxUsage starts the manager again, so that it lists what there is, and returns what it holds once it has seen all of it.
func (b *bench) boxUsage(ctx context.Context, theirs boxes) (usage, error) {
	if err := b.startAnew(ctx); err != nil {
		return usage{}, err
	}
	if err := theirs.correctOnce(ctx); err != nil {
		return usage{}, err
	}
	if err := b.quiet(ctx); err != nil {
		return usage{}, err
	}
	return b.managerUsage(ctx)
}

// writeStatuses returns what the manager held at each look while the status of one object after the other was written,
// and what it holds afterwards.
func (b *bench) writeStatuses(ctx context.Context, theirs boxes) ([]usage, usage, error) {
	if _, err := b.boxUsage(ctx, theirs); err != nil {
		return nil, usage{}, err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- theirs.writeAll(writing) }()
	var looks []usage
	for end := time.Now().Add(b.hostileTime / 2); time.Now().Before(end); {
		if err := pause(ctx, provokeEvery); err != nil {
			return nil, usage{}, err
		}
		look, err := b.managerUsage(ctx)
		if err != nil {
			return nil, usage{}, err
		}
		looks = append(looks, look)
	}
	stop()
	if err := <-ended; err != nil {
		return nil, usage{}, err
	}
	if err := theirs.correctOnce(ctx); err != nil {
		return nil, usage{}, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, usage{}, err
	}
	after, err := b.managerUsage(ctx)
	return looks, after, err
}

// make creates large objects that carry Daytwo's labels and that no add-on declares.
func (x boxes) make(ctx context.Context) error {
	ballast := strings.Repeat("x", labelledBytes)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime / 4)
	for i := range labelledObjects {
		group.Go(func() error {
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": benchGroup + "/v1", "kind": "Box", "spec": map[string]any{"ballast": ballast},
			}}
			object.SetName(theirBox(i))
			object.SetLabels(map[string]string{metav1alpha1.LabelManagedBy: x.installation, metav1alpha1.LabelHash: "v1-0123456789abcdef"})
			_, err := x.client.Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("make the large objects: %w", err)
	}
	return nil
}

func theirBox(i int) string { return fmt.Sprintf("theirs-%02d", i) }

// writeAll writes one status after the other, that of the declared object in between, until the context ends.
func (x boxes) writeAll(ctx context.Context) error {
	for i := 0; pause(ctx, statusEvery) == nil; i++ {
		name := theirBox(i % labelledObjects)
		if i%10 == 0 {
			name = boxName
		}
		patch := fmt.Appendf(nil, `{"status":{"beat":%d}}`, i)
		_, err := x.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "program"}, "status")
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("write the status of %s: %w", name, err)
		}
	}
	return nil
}

// correctOnce returns when an edit of the declared object was taken back. The manager has then seen everything that
// happened to others before, since it sees that in one watch.
func (x boxes) correctOnce(ctx context.Context) error {
	edit := []byte(`{"spec":{"color":"red"}}`)
	if _, err := x.client.Patch(ctx, boxName, types.MergePatchType, edit, metav1.PatchOptions{FieldManager: editor}); err != nil {
		return fmt.Errorf("edit the declared object: %w", err)
	}
	return poll(ctx, "an edit of Box "+boxName+" is taken back", func(ctx context.Context) (bool, error) {
		now, err := x.client.Get(ctx, boxName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		color, _, err := unstructured.NestedString(now.Object, "spec", "color")
		return color == "green", err
	})
}
