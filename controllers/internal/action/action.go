package action

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxName is how long the name of an object may be that is also a label, as many controllers make it.
const maxName = 63

// maxShown is how many objects of one owner are watched in a namespace. A run has up to 32 actions.
const maxShown = 100

// Owner is the object whose actions they are.
type Owner struct{ metav1.Object }

// New returns the record of an action that makes an object. An object without a name gets one that follows from the owner
// and the action. The cluster is the TenantCluster, id its identity.
func (o Owner) New(name string, cluster types.NamespacedName, id types.UID, object *unstructured.Unstructured, now time.Time, timeout time.Duration) metav1alpha1.Action {
	ref := objects.RefOf(object)
	if ref.Name == "" {
		ref.Name = o.objectName(name)
	}
	started := metav1.NewTime(now).Rfc3339Copy()
	return metav1alpha1.Action{
		Name: name, ClusterRef: metav1alpha1.ClusterReference{Namespace: cluster.Namespace, Name: cluster.Name}, ClusterID: string(id),
		Object: ref.ID(), StartedAt: started, Deadline: metav1.NewTime(started.Add(timeout)),
	}
}

func (o Owner) objectName(action string) string {
	return objects.ShortName(maxName, o.GetName()+"-"+action, string(o.GetUID())+"/"+action)
}

// Label marks an object as made by an action of the owner.
func (o Owner) Label(object *unstructured.Unstructured, ref objects.Ref) {
	object.SetName(ref.Name)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[metav1alpha1.LabelAction] = string(o.GetUID())
	object.SetLabels(labels)
}

// made is whether an object was made by an action of the owner.
func (o Owner) made(object metav1.Object) bool {
	return object.GetLabels()[metav1alpha1.LabelAction] == string(o.GetUID())
}

// Selection selects the objects that actions of the owner made, where the given one makes its.
func (o Owner) Selection(ref objects.Ref) fleet.Selection {
	return fleet.Selection{
		Kind: ref.GroupVersionKind, Namespace: ref.Namespace, Limit: maxShown,
		Selector: fmt.Sprintf("%s=%s", metav1alpha1.LabelAction, o.GetUID()),
	}
}

// End ends an action.
func End(a metav1alpha1.Action, outcome metav1alpha1.ActionOutcome, message string, now time.Time) metav1alpha1.Action {
	at := metav1.NewTime(now).Rfc3339Copy()
	a.Outcome, a.Message, a.EndedAt = outcome, truncate.Message(message, conditions.MaxMessage), &at
	return a
}
