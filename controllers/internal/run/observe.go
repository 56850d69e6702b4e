package run

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/connectivity"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxClusters is how many clusters one run may work in.
const maxClusters = 8

// observation is all that the plan and the report of one run are made from.
type observation[R metav1alpha1.Run, S any] struct {
	View[R]
	owner action.Owner
	// added are clusters that are known now, and were not.
	added []metav1alpha1.ClusterReference
	// waitsFor is what a run waits for that has not started.
	waitsFor string
	// progress of the task that is under way.
	progress background.Progress[func(*S)]
}

// clusterView is what is known of one cluster of a run.
type clusterView struct {
	connectivity.Connectivity
	// leaving: the TenantCluster is being deleted, and what works in it is to end.
	leaving bool
	// cluster to work with; nil if there is none.
	cluster *fleet.Cluster
	// observed are the run's selections, and those of its actions.
	observed map[fleet.Selection]fleet.Observed
}

// removal is a run as the subject that removes what it made. It is that from its outcome on.
type removal struct {
	metav1.Object
	since *metav1.Time
}

// GetDeletionTimestamp implements connectivity.Subject.
func (r removal) GetDeletionTimestamp() *metav1.Time { return r.since }

func removalOf(run metav1alpha1.Run) removal {
	return removal{Object: run, since: run.GetRunStatus().EndedAt}
}

// observe reads everything once. A run that has finished, or has not begun, works in no cluster.
func (r *Reconciler[R, S]) observe(ctx context.Context, run R, now time.Time) (observation[R, S], error) {
	o := observation[R, S]{
		View:  View[R]{Run: run, Now: now, clusters: map[types.NamespacedName]*clusterView{}},
		owner: action.Owner{Object: run},
	}
	status := run.GetRunStatus()
	if status.StartedAt == nil {
		queued, waits := r.Kind.(QueuedKind[R])
		if !waits || isDeleted(run) || metav1alpha1.IsLate(run, now) { // One that is late takes no place.
			return o, nil
		}
		var err error
		o.waitsFor, err = queued.Queue(ctx, run)
		return o, err
	}
	if status.FinishedAt != nil {
		return o, nil
	}
	if t := taskUnderWay(status); t != nil {
		o.progress = r.tasks.Progress(background.IDOf(run, t.Name))
	}
	if status.Outcome == "" && len(status.Clusters) < maxClusters {
		known, err := r.Kind.Clusters(ctx, run)
		if err != nil {
			return o, err
		}
		o.added = known[min(len(status.Clusters), len(known)):min(len(known), maxClusters)]
	}
	for _, ref := range status.Clusters {
		if err := r.observeCluster(ctx, &o, Key(ref)); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (r *Reconciler[R, S]) observeCluster(ctx context.Context, o *observation[R, S], key types.NamespacedName) error {
	view := &clusterView{
		Connectivity: connectivity.Connectivity{Subject: removalOf(o.Run), Now: o.Now}, observed: map[fleet.Selection]fleet.Observed{},
	}
	o.clusters[key] = view
	tenant, cluster, err := view.Observe(ctx, r.Client, r.Fleet, key)
	if err != nil {
		return err
	}
	view.leaving, view.cluster = tenant != nil && !tenant.DeletionTimestamp.IsZero(), cluster
	if cluster == nil {
		return nil
	}
	wanted := r.selectionsIn(o, key)
	for selection := range wanted {
		observed, err := cluster.Observe(ctx, r.ownerOf(o.Run), selection)
		if meta.IsNoMatchError(err) {
			observed, err = fleet.Observed{KindState: tracker.KindState{Unknown: err.Error()}}, nil
		}
		if err != nil {
			return err
		}
		view.observed[selection] = observed
	}
	cluster.RetainObservations(r.ownerOf(o.Run), func(selection fleet.Selection) bool { return wanted[selection] })
	return nil
}

// selectionsIn are what a run looks at in a cluster: the objects of its actions, and what its kind wants to see while it is
// under way.
func (r *Reconciler[R, S]) selectionsIn(o *observation[R, S], key types.NamespacedName) map[fleet.Selection]bool {
	wanted := map[fleet.Selection]bool{}
	status := o.Run.GetRunStatus()
	for _, a := range status.Actions {
		if selection, ok := o.selectionOf(a); ok && Key(a.ClusterRef) == key && !a.Removed {
			wanted[selection] = true
		}
	}
	if status.Outcome == "" {
		for _, selection := range r.Kind.Selections(o.Run) {
			if selection.Cluster == key {
				wanted[selection.Selection] = true
			}
		}
	}
	return wanted
}

func (o *observation[R, S]) selectionOf(a metav1alpha1.Action) (fleet.Selection, bool) {
	ref, err := objects.ParseID(a.Object)
	return o.owner.Selection(ref), err == nil
}

// situationOf an action that is under way.
func (o *observation[R, S]) situationOf(a metav1alpha1.Action, decide func(*unstructured.Unstructured) action.Verdict) action.Situation {
	s := action.Situation{Action: a, Now: o.Now, Decide: decide}
	view := o.clusters[Key(a.ClusterRef)]
	switch {
	case view == nil || view.cluster == nil:
		s.Unknown = "waits for " + clusterName(a.ClusterRef)
		if view != nil && view.Unreachable != "" {
			s.Unknown = view.Unreachable
		}
		s.Pending = view != nil && view.Pending
		return s
	}
	s.ClusterID = view.ClusterID
	selection, _ := o.selectionOf(a)
	shown := view.observed[selection]
	switch {
	case shown.Unknown != "":
		s.Unknown = shown.Unknown
	case shown.Pending():
		s.Unknown, s.Pending = "waits for the first list of "+selection.Kind.Kind, true
	case shown.Incomplete:
		s.Unknown = "somebody made more objects with the label " + metav1alpha1.LabelAction + " of this run than are watched"
	}
	for _, object := range shown.Objects {
		if objects.RefOf(object).ID() == a.Object {
			s.Object = object
		}
	}
	return s
}

func clusterName(ref metav1alpha1.ClusterReference) string {
	return "TenantCluster " + ref.Namespace + "/" + ref.Name
}
