package run

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/targets"
)

// TargetKind is a kind of runs in the registry of what works in clusters.
func TargetKind[R metav1alpha1.Run, S any](group schema.GroupVersion, kind Kind[R, S]) *targets.Kind {
	return &targets.Kind{
		GroupVersionKind: group.WithKind(kind.Name()),
		New:              func() client.Object { return kind.New() },
		NewList:          kind.NewList,
		View:             func(object client.Object) targets.View { return viewOf(object.(metav1alpha1.Run)) },
	}
}

// viewOf a run. What runs holds up no upgrade: the run's own deadlines do that.
func viewOf(run metav1alpha1.Run) targets.View {
	view := targets.View{Clusters: clustersOf(run), Ready: true, Applied: true}
	if ended := run.GetRunStatus().EndedAt; ended != nil {
		view.RemovedSince = ended.Time
	}
	for _, a := range run.GetRunStatus().Actions {
		if !a.Removed {
			view.Holdings.Objects = append(view.Holdings.Objects, metav1alpha1.InventoryEntry{ID: a.Object, UID: a.UID})
		}
	}
	return view
}
