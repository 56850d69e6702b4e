package addonrelease

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/statuses"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// doubling delivers each write of a status twice, and returns the answer to the second delivery.
type doubling struct{ client.Client }

// Status implements client.Client.
func (d doubling) Status() client.SubResourceWriter { return doubledStatus{d.Client.Status()} }

type doubledStatus struct{ client.SubResourceWriter }

// Patch implements client.SubResourceWriter.
func (d doubledStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := d.SubResourceWriter.Patch(ctx, object.DeepCopyObject().(client.Object), patch, options...); err != nil {
		return err
	}
	return d.SubResourceWriter.Patch(ctx, object, patch, options...)
}

func TestAStatusThatWasDeliveredTwiceIsWritten(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	a.start(a.revision(""), func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.ClusterRef.Name = "no-cluster" })
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonClusterUnusable)
	release := a.get()
	w, status := writing(doubling{shared.management}, release), release.Status.DeepCopy()
	status.Revision = "written-by-us"
	// The API server keeps seconds.
	status.Conditions[0].LastTransitionTime = metav1.Now()
	if err := w.Record(t.Context(), *status); err != nil {
		t.Fatal(err)
	}
	stored := w.Stored()
	if stored.ResourceVersion != a.get().ResourceVersion || stored.Status.Revision != "written-by-us" {
		t.Errorf("recorded at version %q of %q, with revision %q", stored.ResourceVersion, a.get().ResourceVersion, stored.Status.Revision)
	}
	status.Revision = "not-written"
	if err := w.Confirm(t.Context(), *status); err != nil || a.get().Status.Revision != "written-by-us" {
		t.Errorf("confirmed by another write, though it is recorded: %v", err)
	}
	behind, theirs := writing(doubling{shared.management}, stored), stored.DeepCopy()
	theirs.Status.Revision = "written-by-another"
	if err := shared.management.Status().Patch(t.Context(), theirs, client.MergeFrom(stored)); err != nil {
		t.Fatal(err)
	}
	status.Revision = "written-too-late"
	if err := behind.Record(t.Context(), *status); err == nil {
		t.Error("the status of another manager is overwritten")
	}
}

type (
	known        = target.Known[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus, struct{}]
	statusWriter = statuses.Writer[*addonsv1alpha1.AddonRelease, addonsv1alpha1.AddonReleaseStatus]
)

// writing writes the status of a release as it was read.
func writing(c client.Client, release *addonsv1alpha1.AddonRelease) *statusWriter {
	room := &Room{Client: c, APIReader: shared.management, Kind: shared.reconciler.declared()}
	return room.Writer(release)
}
