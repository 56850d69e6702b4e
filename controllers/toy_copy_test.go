package controllers

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

// CopyRun is the smallest kind of runs: it copies a ConfigMap that is labelled copy=<name of the run> from one cluster to
// another one, and checks it there. This file is all that such a kind has to write.
type (
	// CopyRun copies once.
	CopyRun struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitzero"`
		Spec              CopyRunSpec            `json:"spec,omitzero"`
		Status            metav1alpha1.RunStatus `json:"status,omitzero"`
	}
	// CopyRunSpec is what is copied.
	CopyRunSpec struct {
		metav1alpha1.RunSpec `json:",inline"`
		// From is the TenantCluster with the ConfigMap; To labels the one that gets the copy.
		From string `json:"from,omitempty"`
		To   string `json:"to,omitempty"`
		// Keep the copy when the run ends. Patience is how long the copy may take.
		Keep     bool            `json:"keep,omitempty"`
		Patience metav1.Duration `json:"patience,omitzero"`
	}
	// CopyRunList is a list of CopyRuns.
	CopyRunList struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata,omitzero"`
		Items           []CopyRun `json:"items"`
	}
)

func (c *CopyRun) GetRunSpec() *metav1alpha1.RunSpec     { return &c.Spec.RunSpec }
func (c *CopyRun) GetRunStatus() *metav1alpha1.RunStatus { return &c.Status }
func (c *CopyRun) DeepCopyObject() runtime.Object {
	return &CopyRun{c.TypeMeta, copyMeta(c.ObjectMeta), c.Spec, *c.Status.DeepCopy()}
}

func (l *CopyRunList) DeepCopyObject() runtime.Object {
	return &CopyRunList{l.TypeMeta, l.ListMeta, copies(l.Items)}
}

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// copyRuns is the run.Kind of CopyRuns.
type copyRuns struct{ cache client.Reader }

func (copyRuns) Name() string                                  { return "CopyRun" }
func (copyRuns) New() *CopyRun                                 { return &CopyRun{} }
func (copyRuns) NewList() client.ObjectList                    { return &CopyRunList{} }
func (copyRuns) Status(of *CopyRun) *metav1alpha1.RunStatus    { return &of.Status }
func (copyRuns) CopyStatus(to, from *metav1alpha1.RunStatus)   { from.DeepCopyInto(to) }
func (copyRuns) Keeps(of *CopyRun, _ metav1alpha1.Action) bool { return of.Spec.Keep }
func from(of *CopyRun) types.NamespacedName {
	return types.NamespacedName{Namespace: of.Namespace, Name: of.Spec.From}
}
func selection(of *CopyRun) run.Selection {
	return run.Selection{Cluster: from(of), Selection: fleet.Selection{Kind: configMaps, Namespace: "default", Selector: "copy=" + of.Name, Limit: 1}}
}
func (copyRuns) Selections(of *CopyRun) []run.Selection { return []run.Selection{selection(of)} }

// Clusters has the second one as soon as a TenantCluster has the label.
func (k copyRuns) Clusters(ctx context.Context, of *CopyRun) ([]metav1alpha1.ClusterReference, error) {
	known := []metav1alpha1.ClusterReference{{Namespace: of.Namespace, Name: of.Spec.From}}
	list := &tenancyv1alpha1.TenantClusterList{}
	err := k.cache.List(ctx, list, client.InNamespace(of.Namespace), client.HasLabels{of.Spec.To})
	if len(list.Items) > 0 {
		known = append(known, metav1alpha1.ClusterReference{Namespace: of.Namespace, Name: list.Items[0].Name})
	}
	return known, err
}

// AddWatches wakes all runs for each TenantCluster, since it may have got the label.
func (k copyRuns) AddWatches(b *builder.Builder) {
	b.Watches(&tenancyv1alpha1.TenantCluster{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
		list := &CopyRunList{}
		if err := k.cache.List(ctx, list); err != nil {
			return nil
		}
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	}))
}

func (copyRuns) Next(view run.View[*CopyRun]) run.Move[*CopyRun] {
	of, clusters := view.Run, view.Run.Status.Clusters
	if copied := view.Action("copy"); copied != nil {
		if copied.Outcome != metav1alpha1.ActionSucceeded {
			return run.Move[*CopyRun]{Outcome: metav1alpha1.RunFailed, Message: copied.Message}
		}
		return run.Move[*CopyRun]{Outcome: metav1alpha1.RunSucceeded, Message: "copied to " + clusters[1].Name}
	}
	switch shown := view.Observed(selection(of)); {
	case len(clusters) < 2:
		return run.Move[*CopyRun]{Message: "waits for a TenantCluster with the label " + of.Spec.To}
	case len(shown.Objects) == 0 && shown.Listed:
		return run.Move[*CopyRun]{Outcome: metav1alpha1.RunFailed, Message: "there is nothing to copy in " + of.Spec.From}
	case len(shown.Objects) == 0:
		return run.Move[*CopyRun]{Message: "waits for what is in " + of.Spec.From}
	}
	return run.Move[*CopyRun]{Begin: &run.Beginning{Action: "copy", Cluster: run.Key(clusters[1]), Timeout: of.Spec.Patience.Duration}}
}

func (copyRuns) Object(_ context.Context, view run.View[*CopyRun], _ string) (*unstructured.Unstructured, error) {
	shown := view.Observed(selection(view.Run))
	if len(shown.Objects) == 0 {
		return nil, nil // Not yet.
	}
	made := &unstructured.Unstructured{Object: map[string]any{"data": shown.Objects[0].Object["data"]}}
	made.SetGroupVersionKind(configMaps)
	made.SetNamespace("default")
	return made, nil
}

// Decide takes a copy for done when somebody has checked it.
func (copyRuns) Decide(_ *CopyRun, _ metav1alpha1.Action, object *unstructured.Unstructured) action.Verdict {
	switch verdict := object.GetAnnotations()["checked"]; verdict {
	case "":
		return action.Verdict{Message: object.GetAnnotations()["remark"] + "waits to be checked"}
	case "good":
		return action.Verdict{Outcome: metav1alpha1.ActionSucceeded}
	default:
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: "it was found to be " + verdict}
	}
}
