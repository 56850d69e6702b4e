package addonrelease

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
)

var errFull = errors.New("the management cluster takes no more")

// full is a management cluster that takes no object.
type full struct{ client.Writer }

// Create implements client.Writer.
func (full) Create(context.Context, client.Object, ...client.CreateOption) error { return errFull }

// Update implements client.Writer.
func (full) Update(context.Context, client.Object, ...client.UpdateOption) error { return errFull }

// Patch implements client.Writer.
func (full) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errFull
}

func TestAReplacedClusterIsRecordedBeforeTheStatusForgetsIt(t *testing.T) {
	t.Parallel()
	const replaced = "identity-of-the-replaced-cluster"
	a := newAddon(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	a.waitReady()
	release := a.get()
	before := release.DeepCopy()
	release.Status.ClusterID = replaced
	if err := shared.management.Status().Patch(t.Context(), release, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	room, withoutRecords := shared.reconciler.Room, shared.reconciler.declared()
	withoutRecords.Room = &Room{
		Client: room.Client, APIReader: room.APIReader, Fleet: room.Fleet, Targets: room.Targets, Recorder: room.Recorder,
		Orphans: orphans.Records{Reader: room.Orphans.Reader, Writer: full{}}, Metrics: room.Metrics, Log: room.Log, Kind: withoutRecords,
	}
	if _, err := withoutRecords.Work(t.Context(), a.get(), &known{}); !errors.Is(err, errFull) {
		t.Errorf("it goes on without the record: %v", err)
	}
	if is := a.get().Status.ClusterID; is != replaced {
		t.Errorf("the status forgot the replaced cluster for %q", is)
	}
	a.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.RequestedAt = "now" })
	eventually(t, "the status speaks of the cluster that is there", func() (bool, string) {
		status := a.get().Status
		return status.ClusterID == before.Status.ClusterID && status.HandledRequest == "now", fmt.Sprint(status.ClusterID, describeConditions(a.get()))
	})
	if entries := orphansLeftBy(t, a.name); len(entries) != 1 || entries[0].ClusterID != replaced {
		t.Errorf("the records are %+v", entries)
	}
}
