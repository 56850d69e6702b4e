package orphanrecord

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const (
	aWidget    = "example.com/v1/Widget/a/one"
	aConfigMap = "v1/ConfigMap/a/settings"
	aService   = "v1/Service/a/web"
	aRecord    = "v1/Secret/a/sh.helm.release.v1.web.v3"
	aNamespace = "v1/Namespace//a"
	aKind      = "apiextensions.k8s.io/v1/CustomResourceDefinition//widgets.example.com"
	aClaim     = "v1/PersistentVolumeClaim/a/data"
)

// scene has one record of one cluster, in which nothing was tried yet.
func scene(ids ...string) observation {
	record := tenancyv1alpha1.OrphanRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "before.1"},
		Spec: tenancyv1alpha1.OrphanRecordSpec{
			ClusterName: "before", ClusterID: "id-1", Owner: tenancyv1alpha1.OrphanOwner{Kind: "AddonRelease", Namespace: "acme", Name: "cache-before", Policy: "cache"},
		},
	}
	for _, id := range ids {
		record.Spec.Objects = append(record.Spec.Objects, tenancyv1alpha1.OrphanObject{ID: id, UID: "uid"})
	}
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod"}}
	return observation{
		namespace: "acme", now: noon, records: []tenancyv1alpha1.OrphanRecord{record}, tries: tries{},
		sites: []site{{tenant: tenant, id: "id-1"}},
	}
}

func (o observation) tried(id string, how outcome, next time.Duration) {
	o.tries[itemKey{record: o.records[0].Name, id: id, uid: "uid"}] = try{outcome: how, next: o.now.Add(next)}
}

// summarize names what would be swept now, and when the rest is due.
func summarize(p plan) string {
	var text []string
	for _, batch := range p.batches {
		for _, item := range batch.items {
			text = append(text, item.Kind)
		}
	}
	for range p.unusable {
		text = append(text, "unusable")
	}
	slices.Sort(text)
	if !p.wakeAt.IsZero() {
		text = append(text, fmt.Sprint("wake in ", p.wakeAt.Sub(noon)))
	}
	return strings.Join(text, " ")
}

func TestPlan(t *testing.T) {
	all := []string{aConfigMap, aService, aRecord, aNamespace, aKind, aClaim}
	for _, row := range []struct {
		name   string
		ids    []string
		change func(*observation)
		want   string
	}{
		{"CustomResourcesGoFirst", append([]string{aWidget}, all...), func(*observation) {}, "Widget"},
		{"WhatRunsGoesBeforeWhatItNeeds", all, func(*observation) {}, "Service"},
		{"SettingsGoBeforeRecords", []string{aConfigMap, aRecord, aNamespace, aKind, aClaim}, func(*observation) {}, "ConfigMap"},
		{"RecordsComeWhenTheRestIsGone", []string{aRecord, aNamespace, aKind, aClaim}, func(*observation) {}, "Secret"},
		{"DefinitionsComeWhenAllElseIsGone", []string{aNamespace, aKind, aClaim}, func(*observation) {}, "CustomResourceDefinition"},
		{"NamespacesComeLast", []string{aNamespace, aClaim}, func(*observation) {}, "Namespace"},
		{"ClaimsStay", []string{aClaim}, func(*observation) {}, ""},
		{"WhatIsMarkedStays", []string{aConfigMap}, func(o *observation) { o.records[0].Spec.Objects[0].Keep = true }, ""},
		{"WhatIsOnItsWayHoldsUpTheRest", []string{aConfigMap, aNamespace}, func(o *observation) { o.tried(aConfigMap, removing, time.Second) }, "wake in 1s"},
		{"WhatIsLeftHoldsUpNothing", []string{aConfigMap, aNamespace}, func(o *observation) { o.tried(aConfigMap, left, retryLeft) }, "Namespace wake in 30m0s"},
		{"WhatIsDueIsTriedAgain", []string{aConfigMap}, func(o *observation) { o.tried(aConfigMap, failed, 0) }, "ConfigMap"},
		{"AnotherClusterIsLeftAlone", all, func(o *observation) { o.sites[0].id = "id-2" }, ""},
		{"NoClusterIsThere", all, func(o *observation) { o.sites = nil }, ""},
		{"ACompletelyUnknownIdentityMatchesNothing", all, func(o *observation) { o.records[0].Spec.ClusterID = "" }, ""},
		{"AHeldClusterIsLeftAlone", all, func(o *observation) { o.sites[0].hold = hold{why: "it is suspended", until: noon.Add(time.Hour)} }, "wake in 1h0m0s"},
		{"ItsAddonComesFirst", all, func(o *observation) { o.awaited = map[string]bool{o.records[0].Name: true} }, "wake in 5m0s"},
		{"WhatNamesNothingIsTold", []string{aConfigMap, "x"}, func(*observation) {}, "ConfigMap unusable"},
		{"ARecordOfMoreThanItNamesStays", nil, func(o *observation) { o.records[0].Spec.MoreObjects = 12 }, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := scene(row.ids...)
			row.change(&o)
			if got := summarize(newPlan(o)); got != row.want {
				t.Errorf("plan is %q, want %q", got, row.want)
			}
		})
	}
}

func TestTheWorkOfOneReconcileIsBounded(t *testing.T) {
	var ids []string
	for i := range 3 * batchSize {
		ids = append(ids, fmt.Sprintf("v1/ConfigMap/a/settings-%d", i))
	}
	p := newPlan(scene(ids...))
	if len(p.batches) != 1 || len(p.batches[0].items) != batchSize || !p.wakeAt.Equal(noon) {
		t.Errorf("%d objects now, the rest at %s", len(p.batches[0].items), p.wakeAt)
	}
}

func TestWhatHoldsASweep(t *testing.T) {
	ready := metav1.Condition{Type: metav1alpha1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}
	later := metav1.NewTime(noon)
	for _, row := range []struct {
		name   string
		change func(*tenancyv1alpha1.TenantCluster)
		want   string
		until  time.Time
	}{
		{"NothingWhenAllIsWell", func(*tenancyv1alpha1.TenantCluster) {}, "", time.Time{}},
		{"AnotherIdentity", func(c *tenancyv1alpha1.TenantCluster) { c.Status.ClusterID = "id-2" }, "its identity is not on record", time.Time{}},
		{"Deletion", func(c *tenancyv1alpha1.TenantCluster) { c.DeletionTimestamp = &later }, "it is being deleted", time.Time{}},
		{"Suspension", func(c *tenancyv1alpha1.TenantCluster) { c.Spec.Suspend = true }, "it is suspended", time.Time{}},
		{"SuspensionForATime", func(c *tenancyv1alpha1.TenantCluster) {
			c.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "2026-03-01T13:00:00Z"}
		}, "it is suspended until 2026-03-01T13:00:00Z", noon.Add(time.Hour)},
		{"AnUpgrade", func(c *tenancyv1alpha1.TenantCluster) { c.Status.Upgrade = &tenancyv1alpha1.Upgrade{} }, "it is being upgraded", time.Time{}},
		{"ItIsNotReady", func(c *tenancyv1alpha1.TenantCluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown }, "it is not Ready", time.Time{}},
		{"NobodyKnows", func(c *tenancyv1alpha1.TenantCluster) { c.Status.Conditions = nil }, "it is not Ready", time.Time{}},
		{"TheHeadStart", func(c *tenancyv1alpha1.TenantCluster) {
			c.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-time.Minute))
		}, "it was not Ready until a moment ago", noon.Add(time.Minute)},
	} {
		t.Run(row.name, func(t *testing.T) {
			cluster := &tenancyv1alpha1.TenantCluster{Status: tenancyv1alpha1.TenantClusterStatus{ClusterID: "id-1", Conditions: []metav1.Condition{ready}}}
			row.change(cluster)
			if got := holdOf(cluster, "id-1", 2*time.Minute, noon); got.why != row.want || !got.until.Equal(row.until) {
				t.Errorf("it is held because %q until %s", got.why, got.until)
			}
		})
	}
}

func TestTargetsHoldASweepUntilTheyAreApplied(t *testing.T) {
	kind := addonrelease.TargetKind()
	release := func(change func(*addonsv1alpha1.AddonRelease)) *addonsv1alpha1.AddonRelease {
		made := &addonsv1alpha1.AddonRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "a", Generation: 2}}
		made.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionApplied, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
		change(made)
		return made
	}
	now := metav1.NewTime(noon)
	for _, row := range []struct {
		name   string
		change func(*addonsv1alpha1.AddonRelease)
		held   bool
	}{
		{"Applied", func(*addonsv1alpha1.AddonRelease) {}, false},
		{"New", func(r *addonsv1alpha1.AddonRelease) { r.Status.Conditions = nil }, true},
		{"Changed", func(r *addonsv1alpha1.AddonRelease) { r.Generation = 3 }, true},
		{"Failed", func(r *addonsv1alpha1.AddonRelease) { r.Status.Conditions[0].Status = metav1.ConditionFalse }, true},
		{"Going", func(r *addonsv1alpha1.AddonRelease) { r.Status.Conditions, r.DeletionTimestamp = nil, &now }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := unapplied([]targets.Member{kind.Member(release(row.change))}); (got.why != "") != row.held {
				t.Errorf("it is held because %q", got.why)
			}
		})
	}
}

func TestTriesComeFurtherApart(t *testing.T) {
	known, one := tries{}, result{item: item{itemKey: itemKey{id: aConfigMap}}, outcome: failed}
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := known.after(noon, []result{one}).Sub(noon); got != want {
			t.Errorf("the next is in %s, want %s", got, want)
		}
	}
	for range 100 {
		known.after(noon, []result{one})
	}
	if got := known.after(noon, []result{one}).Sub(noon); got != retryLast {
		t.Errorf("in the end it is every %s", got)
	}
	one.outcome = removing
	if got := known.after(noon, []result{one}).Sub(noon); got != retryFirst {
		t.Errorf("when something changed it is in %s", got)
	}
	one.outcome = gone
	if known.after(noon, []result{one}); len(known) != 0 {
		t.Errorf("what is gone is remembered: %v", known)
	}
}

func TestProgressOfASweep(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*observation)
		want   string
	}{
		{"NothingKeepsIt", func(*observation) {}, "InProgress: objects are being removed from TenantCluster acme/prod"},
		{"TheClusterIsHeld", func(o *observation) { o.sites[0].hold.why = "it is not Ready" }, "Waiting: TenantCluster acme/prod: it is not Ready"},
		{"TheClusterIsHeldForATime", func(o *observation) {
			o.sites[0].hold = hold{why: "it is suspended", until: noon.Add(time.Hour)}
		}, "Waiting: TenantCluster acme/prod: it is suspended, and is looked at again at 2026-03-01T13:00:00Z"},
		{"ItsAddonComesFirst", func(o *observation) {
			o.awaited = map[string]bool{o.records[0].Name: true}
		}, "Waiting: its policy acme/cache selects TenantCluster acme/prod, and comes first"},
		{"TheClusterIsMissing", func(o *observation) { o.sites = nil }, "ClusterMissing: no connected TenantCluster of this namespace has the identity spec.clusterID: " +
			"register the cluster again, or deal with what spec.objects lists, then delete this record"},
		{"AllIsLeft", func(o *observation) { o.tried(aConfigMap, left, retryLeft) }, "ObjectsKept: the objects that are left in TenantCluster acme/prod are not removed, " +
			"each for the reason in its message: deal with what spec.objects lists, then delete this record"},
		{"AllIsKept", func(o *observation) { o.records[0].Spec.Objects[0].Keep = true }, "ObjectsKept: Daytwo removes nothing of it: deal with it, then delete this record"},
		{"NothingIsListed", func(o *observation) { o.records[0].Spec.Objects = nil }, "ObjectsKept: Daytwo removes nothing of it: deal with it, then delete this record"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := scene(aConfigMap)
			row.change(&o)
			if reason, message := progress(o, &o.records[0]); reason+": "+message != row.want {
				t.Errorf("it says %s: %s", reason, message)
			}
		})
	}
}
