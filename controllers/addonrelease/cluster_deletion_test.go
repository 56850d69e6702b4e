package addonrelease

import (
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

func TestWhatIsLeftInAClusterThatLivesOn(t *testing.T) {
	ref := func(group, kind, namespace, name string) objects.Ref {
		return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: namespace, Name: name}
	}
	o := scene()
	o.Inventory = apply.Inventory{}
	for _, e := range []apply.Entry{
		{Ref: ref("", "ConfigMap", "a", "plain"), UID: "1", Fingerprint: "f"},
		{Ref: ref("", "ConfigMap", "a", "taken-over"), UID: "2", Fingerprint: "f", Adopted: true},
		{Ref: ref("", "ConfigMap", "a", "intended")},
		{Ref: ref("", "Secret", "a", "kept"), UID: "3", Fingerprint: "f", Kept: true},
		{Ref: ref("", "PersistentVolumeClaim", "a", "data"), UID: "4", Fingerprint: "f"},
		{Ref: ref("", "Namespace", "", "a"), UID: "5", Fingerprint: "f"},
		{Ref: ref("", "Namespace", "", "found"), UID: "6", Fingerprint: "f", Adopted: true},
		{Ref: ref("", "Namespace", "", "of-others"), UID: "7"},
	} {
		o.Inventory[e.Key()] = e
	}
	o.Status.Helm = &addonsv1alpha1.HelmRelease{Record: &metav1alpha1.InventoryEntry{ID: "v1/Secret/a/sh.helm.release.v1.x.v1", UID: "8"}}
	want := []tenancyv1alpha1.OrphanObject{
		{ID: "v1/ConfigMap/a/intended"},
		{ID: "v1/ConfigMap/a/plain", UID: "1"},
		{ID: "v1/ConfigMap/a/taken-over", UID: "2"},
		{ID: "v1/Namespace//a", UID: "5"},
		{ID: "v1/PersistentVolumeClaim/a/data", UID: "4", Keep: true},
		{ID: "v1/Secret/a/kept", UID: "3", Keep: true},
		{ID: "v1/Secret/a/sh.helm.release.v1.x.v1", UID: "8"},
	}
	move(o, "before")
	if got := o.Elsewhere.Objects; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A release that waits for a cluster which answers is woken by what happens there, and not by a deadline that
// has passed.
func TestADeadlineWakesOnlyWhereItDecides(t *testing.T) {
	deadline := noon.Add(-time.Minute)
	for name, row := range map[string]struct {
		going       *connectivity.ClusterDeletion
		unreachable string
		want        time.Time
	}{
		"the TenantCluster stays":                {nil, "no answer", time.Time{}},
		"the cluster goes along":                 {&connectivity.ClusterDeletion{Outcome: connectivity.ClusterDeleted, Deadline: deadline}, "", deadline},
		"it lives on, and does not answer":       {&connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: deadline}, "no answer", deadline},
		"it lives on, and answers":               {&connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept, Deadline: deadline}, "", time.Time{}},
		"it answers, and is backed up first":     {&connectivity.ClusterDeletion{Outcome: connectivity.ClusterDeleted, Deadline: deadline, BackupFirst: true}, "", time.Time{}},
		"it takes as long as it takes to answer": {&connectivity.ClusterDeletion{Outcome: connectivity.ClusterKept}, "no answer", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := scene(deleting)
			o.ClusterDeletion, o.Unreachable = row.going, row.unreachable
			if got := o.GivenUpAt(); !got.Equal(row.want) {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}
