package tenantcluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/addonrelease"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// Kinds of which only the registry knows: a kind of targets and its kind of policy, and a kind of runs, which people start
// and which work in two clusters.
var (
	notes        = schema.GroupVersionKind{Group: "test.daytwo.dev", Version: "v1alpha1", Kind: "Note"}
	notePolicies = notes.GroupVersion().WithKind("NotePolicy")
	copyRuns     = notes.GroupVersion().WithKind("CopyRun")
)

type note struct{ addonsv1alpha1.AddonRelease }

func (n *note) DeepCopyObject() runtime.Object { return &note{*n.DeepCopy()} }

type noteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []note `json:"items"`
}

func (l *noteList) DeepCopyObject() runtime.Object {
	next := &noteList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		next.Items = append(next.Items, note{*l.Items[i].DeepCopy()})
	}
	return next
}

type notePolicy struct{ addonsv1alpha1.SaaSAddon }

func (p *notePolicy) DeepCopyObject() runtime.Object { return &notePolicy{*p.DeepCopy()} }

type notePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []notePolicy `json:"items"`
}

func (l *notePolicyList) DeepCopyObject() runtime.Object {
	next := &notePolicyList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		next.Items = append(next.Items, notePolicy{*l.Items[i].DeepCopy()})
	}
	return next
}

func noteKind() *targets.Kind {
	return &targets.Kind{
		GroupVersionKind: notes,
		New:              func() client.Object { return &note{} },
		NewList:          func() client.ObjectList { return &noteList{} },
		Policy:           &targets.PolicyKind{GroupVersionKind: notePolicies, New: func() metav1alpha1.Policy { return &notePolicy{} }},
		View:             func(object client.Object) targets.View { return targets.ViewOf(object.(*note), targets.Holdings{}) },
	}
}

func copyRunKind() *targets.Kind {
	return &targets.Kind{
		GroupVersionKind: copyRuns,
		New: func() client.Object {
			run := &unstructured.Unstructured{}
			run.SetGroupVersionKind(copyRuns)
			return run
		},
		NewList: func() client.ObjectList {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(copyRuns.GroupVersion().WithKind("CopyRunList"))
			return list
		},
		View: func(object client.Object) (view targets.View) {
			names, _, _ := unstructured.NestedStringSlice(object.(*unstructured.Unstructured).Object, "spec", "clusters")
			for _, name := range names {
				view.Clusters = append(view.Clusters, types.NamespacedName{Namespace: object.GetNamespace(), Name: name})
			}
			return view
		},
	}
}

func scheme() *runtime.Scheme {
	scheme := apis.NewScheme()
	metav1.AddToGroupVersion(scheme, notes.GroupVersion())
	scheme.AddKnownTypeWithName(notes, &note{})
	scheme.AddKnownTypeWithName(notes.GroupVersion().WithKind("NoteList"), &noteList{})
	scheme.AddKnownTypeWithName(notePolicies, &notePolicy{})
	scheme.AddKnownTypeWithName(notes.GroupVersion().WithKind("NotePolicyList"), &notePolicyList{})
	return scheme
}

// installNotes makes these kinds, and lets the manager read them.
func (w *env) installNotes(ctx context.Context) error {
	const reader = "daytwo-manager-notes"
	err := manifests.Apply(ctx, w.fleet.Management().Config(), []*unstructured.Unstructured{definitionOf(notes), definitionOf(notePolicies), definitionOf(copyRuns)})
	return errors.Join(err,
		w.admin.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: reader},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{notes.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
		}),
		w.admin.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: reader},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader},
		}))
}

// note makes a target of another kind, as a policy controller does.
func (t *tenant) note(name, cluster string) *note {
	t.Helper()
	made := &note{addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{metav1alpha1.FinalizerTarget},
			Labels: map[string]string{metav1alpha1.LabelCluster: cluster, metav1alpha1.LabelClusterNamespace: t.namespace, metav1alpha1.LabelPolicy: "notes"},
		},
		Spec: addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{
			ClusterRef: metav1alpha1.ClusterReference{Namespace: t.namespace, Name: cluster}, Revision: "r1",
		}},
	}}
	t.create(made)
	return made
}

func TestDeletionWaitsForTargetsOfEveryKind(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("prod", shared.blue.Kubeconfig())
	tenant.waitReady("prod")
	release, other := tenant.target("cache-prod", "prod"), tenant.note("notes-prod", "prod")
	policy := &notePolicy{addonsv1alpha1.SaaSAddon{ObjectMeta: metav1.ObjectMeta{Name: "notes"}}}
	tenant.create(policy)
	aRelease, aNote := "AddonRelease "+tenant.namespace+"/cache-prod", "Note "+tenant.namespace+"/notes-prod"

	tenant.delete("prod")
	gone := tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets,
		"waits until "+aRelease+" is gone, which its SaaSAddon has not deleted yet", "waits until "+aNote+" is gone, which its NotePolicy has not deleted yet")
	policy.Status.Conditions = []metav1.Condition{{
		Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonWithdrawalGuard, LastTransitionTime: metav1.Now(),
	}}
	if err := tenant.admin.Status().Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, aNote+" is held back by the withdrawal guard of NotePolicy "+tenant.namespace+"/notes")

	for _, target := range []client.Object{other, release} {
		if err := tenant.admin.Delete(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, "waits until "+aRelease+" and "+aNote+" are gone")
	tenant.removeFinalizer(release)
	if left := tenant.waitStep("prod", tenancyv1alpha1.DeletionRemovingTargets, "waits until "+aNote+" is gone"); strings.Contains(readyMessage(left.Status), aRelease) {
		t.Errorf("it waits for what is gone: %s", readyMessage(left.Status))
	}
	tenant.removeFinalizer(other)
	tenant.waitGone(gone)
}

func TestDeletionWaitsForARunInTwoClusters(t *testing.T) {
	tenant := newTenant(t)
	tenant.imported("from", shared.blue.Kubeconfig())
	tenant.imported("to", shared.green.Kubeconfig())
	tenant.waitReady("from")
	tenant.waitReady("to")
	run := tenant.run("weekly", "from", "to")

	for _, name := range []string{"from", "to"} {
		tenant.delete(name)
		tenant.waitStep(name, tenancyv1alpha1.DeletionStoppingDrills, "drills are under way: CopyRun "+tenant.namespace+"/weekly.")
	}
	if err := tenant.admin.Delete(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"from", "to"} {
		tenant.waitGone(&tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: tenant.namespace, Name: name}})
	}
}

func TestThePolicyOfATargetIsResponsible(t *testing.T) {
	tenant := newTenant(t)
	held := tenant.note("notes-prod", "prod")
	kinds := targets.Registry{addonrelease.TargetKind(), noteKind()}
	for _, row := range [][2]string{{"Note", "NotePolicy " + tenant.namespace + "/notes"}, {"AddonRelease", "AddonRelease " + tenant.namespace + "/notes-prod"}} {
		if got := kinds.ResponsibleFor(t.Context(), tenant.admin, row[0], client.ObjectKeyFromObject(held)); got != row[1] {
			t.Errorf("responsible for a %s is %s, want %s", row[0], got, row[1])
		}
	}
	tenant.removeFinalizer(held)
}
