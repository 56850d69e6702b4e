package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/targetstate"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

var toyGroup = schema.GroupVersion{Group: "toys.daytwo.dev", Version: "v1alpha1"}

// addToys makes a scheme know the toy kinds.
func addToys(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(toyGroup, &NotePolicy{}, &NotePolicyList{}, &Note{}, &NoteList{}, &CopyRun{}, &CopyRunList{})
	metav1.AddToGroupVersion(scheme, toyGroup)
}

// toyEnv is a crashEnv of several clusters, whose manager has the toy kinds in the place of those of add-ons.
type toyEnv struct {
	*crashEnv
	// clusters by the name of their TenantCluster.
	clusters map[string]*toyCluster
}

type toyCluster struct {
	client.WithWatch
	proxy *proxy
}

// newToyEnv has the clusters one, two and three.
func newToyEnv(t *testing.T) *toyEnv {
	t.Helper()
	w := &toyEnv{crashEnv: newEmptyEnvOf(t, 3), clusters: map[string]*toyCluster{}}
	w.setUp = setUpToys
	addToys(w.management.Scheme())
	for i, name := range []string{"one", "two", "three"} {
		cluster, err := w.fleet.Cluster(fmt.Sprintf("workload-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		w.clusters[name] = &toyCluster{newClient(t, cluster), newProxy(t, cluster.Config(), w.failpoint)}
		w.registerAs(name, "access-"+name, w.clusters[name].proxy.kubeconfig(t))
	}
	definitions := []*unstructured.Unstructured{
		toyDefinition(t, "NotePolicy", "notepolicies"), toyDefinition(t, "Note", "notes"), toyDefinition(t, "CopyRun", "copyruns"),
	}
	if err := manifests.Apply(t.Context(), w.fleet.Management().Config(), definitions); err != nil {
		t.Fatal(err)
	}
	w.explain = func() string { return "\n  " + w.log.about("note") + "\n  " + w.log.about("copyrun") }
	return w
}

// toyDefinition defines a kind that the API server takes as it comes.
func toyDefinition(t *testing.T, kind, plural string) *unstructured.Unstructured {
	t.Helper()
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + toyGroup.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: toyGroup.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: toyGroup.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// setUpToys is SetupAll for the toy kinds.
func setUpToys(ctx context.Context, mgr ctrl.Manager, options Options) (func(), error) {
	addToys(mgr.GetScheme())
	rules, err := options.rules()
	if err != nil {
		return nil, err
	}
	b, err := newBase(ctx, mgr, options, rules)
	if err != nil {
		return nil, err
	}
	pair := targets.Pair[*Note]{Target: &Note{}, Targets: &NoteList{}, Policy: &NotePolicy{}, Policies: &NotePolicyList{}}
	b.targets = append(b.targets, pair.Kind(toyGroup, func(note *Note) targets.Holdings { return targets.Holdings{Objects: note.Status.Inventory} }))
	kind := copyRuns{cache: b.GetClient()}
	b.targets = append(b.targets, run.TargetKind(toyGroup, kind))
	runs := &run.Reconciler[*CopyRun, metav1alpha1.RunStatus]{
		Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Recorder: b.recorder("copyrun"),
		Orphans: b.orphans(), Clock: clock.RealClock{}, Log: options.Log.WithName("copyrun"), Kind: kind,
	}
	policies := &policy.Reconciler[*NotePolicy, *Note]{
		Client: b.GetClient(), APIReader: b.GetAPIReader(), Recorder: b.recorder("notepolicy"), Clock: clock.RealClock{},
		ProviderNamespace: options.ProviderNamespace, Kind: phasedNotes{},
	}
	reconciler := &target.Declared[*Note, NoteStatus, struct{}]{
		DeclaredKind: notes{revisions: b.GetAPIReader(), installation: options.Installation}, Rules: rules, Installation: options.Installation, Clock: clock.RealClock{},
		Room: &target.Reconciler[*Note, NoteStatus, struct{}]{
			Client: b.GetClient(), APIReader: b.GetAPIReader(), Fleet: b.connections, Targets: b.targets, Recorder: b.recorder("note"), Orphans: b.orphans(),
			Metrics: b.metrics, Log: options.Log.WithName("note"),
		},
	}
	return b.close, errors.Join(b.setUpTenantClusters(ctx), b.setUpAddons(), b.setUpReleases(),
		policies.SetupWithManager(mgr, policy.Options{}), reconciler.SetupWithManager(mgr, target.Options{}), runs.SetupWithManager(mgr, run.Options{}))
}

// createNote makes a NotePolicy for some clusters.
func (w *toyEnv) createNote(name, text string, clusters ...string) {
	w.t.Helper()
	w.createNoteWith(name, text, clusters, func(*NotePolicy) {})
}

func (w *toyEnv) createNoteWith(name, text string, clusters []string, change func(*NotePolicy)) {
	w.t.Helper()
	note := &NotePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: NotePolicySpec{Text: text}}
	note.Spec.ClusterNames, note.Spec.Rollout.MaxConcurrent = clusters, 10
	note.Spec.WithdrawalGuard.MaxClusters = 10
	change(note)
	if err := w.management.Create(w.t.Context(), note); err != nil {
		w.t.Fatal(err)
	}
}

// changeNote lets a person edit a NotePolicy.
func (w *toyEnv) changeNote(name string, change func(*NotePolicy)) {
	w.t.Helper()
	note := w.note(name)
	before := note.DeepCopyObject().(*NotePolicy)
	change(note)
	if err := w.management.Patch(w.t.Context(), note, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *toyEnv) deleteNote(name string) {
	w.t.Helper()
	if err := w.management.Delete(w.t.Context(), w.note(name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *toyEnv) note(name string) *NotePolicy {
	w.t.Helper()
	note := &NotePolicy{}
	if err := w.management.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, note); err != nil {
		w.t.Fatal(err)
	}
	return note
}

// target is the Note of a policy in a cluster; nil if there is none.
func (w *toyEnv) target(name, cluster string) *Note {
	w.t.Helper()
	list := &NoteList{}
	labels := client.MatchingLabels{metav1alpha1.LabelPolicy: name, metav1alpha1.LabelCluster: cluster}
	if err := w.management.List(w.t.Context(), list, labels); err != nil {
		w.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// text is what a cluster was told by a policy, beginning with "none" if it was told nothing.
func (w *toyEnv) text(name, cluster string) string {
	config := &corev1.ConfigMap{}
	err := w.clusters[cluster].Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, config)
	if apierrors.IsNotFound(err) {
		return "none"
	}
	if err != nil {
		return "none is known: " + err.Error()
	}
	return config.Data["text"]
}

// told says how clusters do not have a text with a Ready target and a Ready policy.
func (w *toyEnv) told(name, text string, clusters ...string) string {
	for _, cluster := range clusters {
		if got := w.text(name, cluster); got != text {
			return fmt.Sprintf("%s has %q, want %q", cluster, got, text)
		}
		note := w.target(name, cluster)
		if got := conditionOf(note, metav1alpha1.ConditionReady); !strings.HasPrefix(got, "True Succeeded") {
			return fmt.Sprintf("the Note in %s is %s", cluster, got)
		}
		if read := note.Status.Acknowledged; read == nil || read.Generation != note.Generation {
			return fmt.Sprintf("of generation %d of the Note in %s was read back: %+v", note.Generation, cluster, read)
		}
	}
	note := w.note(name)
	ready := meta.FindStatusCondition(note.Status.Conditions, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != note.Generation || int(note.Status.Clusters.Ready.Count) != len(clusters) {
		return fmt.Sprintf("the NotePolicy is %+v with %+v", ready, note.Status.Clusters)
	}
	return ""
}

// conditionOf describes a condition of a target's current generation; empty for no target, or none.
func conditionOf(note *Note, kind string) string {
	if note == nil {
		return ""
	}
	condition := targetstate.CurrentCondition(note, kind)
	if condition == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
}

// gone says how a policy, its targets, revisions or ConfigMaps are still there.
func (w *toyEnv) gone(name string, clusters ...string) string {
	err := w.management.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &NotePolicy{})
	if !apierrors.IsNotFound(err) {
		return fmt.Sprintf("the NotePolicy is still there: %v", err)
	}
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &NoteList{}} {
		if err := w.management.List(context.Background(), list, client.MatchingLabels{metav1alpha1.LabelPolicy: name}); err != nil || meta.LenList(list) > 0 {
			return fmt.Sprintf("%d objects of %T are left: %v", meta.LenList(list), list, err)
		}
	}
	for _, cluster := range clusters {
		if got := w.text(name, cluster); got != "none" {
			return fmt.Sprintf("%s still has %q", cluster, got)
		}
	}
	return ""
}
