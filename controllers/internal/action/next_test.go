package action

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var owner = Owner{Object: &metav1.ObjectMeta{Namespace: "acme", Name: "weekly", UID: "owner"}}

// restore returns an object that an action makes, as it is before.
func restore() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("velero.io/v1")
	object.SetKind("Restore")
	object.SetNamespace("velero")
	return object
}

// begun is an action that was recorded at noon and may take an hour.
func begun() metav1alpha1.Action {
	return owner.New("restore", types.NamespacedName{Namespace: "acme", Name: "prod"}, "id", restore(), noon, time.Hour)
}

func inCluster(uid, phase string) *unstructured.Unstructured {
	object := restore()
	object.SetUID(types.UID(uid))
	object.SetAnnotations(map[string]string{"phase": phase})
	return object
}

func byPhase(object *unstructured.Unstructured) Verdict {
	switch phase := object.GetAnnotations()["phase"]; phase {
	case "Completed":
		return Verdict{Outcome: metav1alpha1.ActionSucceeded, Message: "3 objects"}
	case "Failed":
		return Verdict{Outcome: metav1alpha1.ActionFailed, Message: "no space left"}
	default:
		return Verdict{Message: "is " + phase}
	}
}

func TestNextStepOfAnAction(t *testing.T) {
	const late = time.Hour
	for name, row := range map[string]struct {
		uid       string
		after     time.Duration
		clusterID types.UID
		unknown   string
		pending   bool
		object    *unstructured.Unstructured

		outcome metav1alpha1.ActionOutcome
		step    Step
		says    string // in the message, or in what is awaited
	}{
		"it is made":                                {clusterID: "id", step: Make},
		"it is not made before it is known":         {clusterID: "id", unknown: "waits for the first list", says: "first list"},
		"it is not made in a cluster that is away":  {unknown: "no answer", says: "no answer"},
		"one that is shown was made before":         {clusterID: "id", object: inCluster("a", "New"), says: "is New"},
		"it is under way":                           {uid: "a", clusterID: "id", object: inCluster("a", "InProgress"), says: "is InProgress"},
		"it succeeded":                              {uid: "a", clusterID: "id", object: inCluster("a", "Completed"), outcome: metav1alpha1.ActionSucceeded, says: "3 objects"},
		"it succeeded, and nobody looked until now": {uid: "a", after: late, clusterID: "id", object: inCluster("a", "Completed"), outcome: metav1alpha1.ActionSucceeded},
		"it failed":                                 {uid: "a", clusterID: "id", object: inCluster("a", "Failed"), outcome: metav1alpha1.ActionFailed, says: "no space left"},
		"it takes too long":                         {uid: "a", after: late, clusterID: "id", object: inCluster("a", "New"), outcome: metav1alpha1.ActionTimedOut, says: "within 1h0m0s: is New"},
		"its cluster is away too long":              {uid: "a", after: late, unknown: "no answer", outcome: metav1alpha1.ActionTimedOut, says: "no answer"},
		"it is about to be shown, and is due":       {uid: "a", after: late, clusterID: "id", unknown: "waits for the first list", pending: true, says: "first list"},
		"it was never made in time":                 {after: late, clusterID: "id", outcome: metav1alpha1.ActionTimedOut},
		"it is not shown":                           {uid: "a", clusterID: "id", step: Look},
		"it is not known whether it is there":       {uid: "a", clusterID: "id", unknown: "forbidden", says: "forbidden"},
		"another one has its name":                  {uid: "a", clusterID: "id", object: inCluster("b", "Completed"), outcome: metav1alpha1.ActionFailed, says: "somebody else removed Restore velero/weekly-restore-"},
		"its cluster is another one":                {uid: "a", clusterID: "other", object: inCluster("a", "Completed"), outcome: metav1alpha1.ActionFailed, says: "acme/prod leads to another cluster"},
		"it is made in no cluster that is another":  {clusterID: "other", outcome: metav1alpha1.ActionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			a := begun()
			a.UID = row.uid
			s := Situation{Action: a, Now: noon.Add(row.after), ClusterID: row.clusterID, Unknown: row.unknown, Pending: row.pending, Object: row.object, Decide: byPhase}
			next, step, awaited := s.Next()
			if next.Outcome != row.outcome || step != row.step || !strings.Contains(next.Message+awaited, row.says) {
				t.Errorf("outcome %q, step %q, message %q, awaits %q", next.Outcome, step, next.Message, awaited)
			}
			if (next.EndedAt != nil) != (row.outcome != "") {
				t.Errorf("it ended at %v with outcome %q", next.EndedAt, next.Outcome)
			}
			if row.object != nil && row.uid == "" && next.UID != string(row.object.GetUID()) {
				t.Errorf("the object that is shown is not on record: %q", next.UID)
			}
		})
	}
}

func TestTheNameOfAnObjectFollowsFromItsAction(t *testing.T) {
	first, again := begun().Object, begun().Object
	other := owner.New("check", types.NamespacedName{}, "id", restore(), noon, time.Hour).Object
	anew := Owner{Object: &metav1.ObjectMeta{Namespace: "acme", Name: "weekly", UID: "another"}}.New("restore", types.NamespacedName{}, "id", restore(), noon, time.Hour).Object
	if first != again || first == other || first == anew || !strings.HasPrefix(first, "velero.io/v1/Restore/velero/weekly-restore-") {
		t.Errorf("names are %s, %s, %s, %s", first, again, other, anew)
	}
	long := Owner{Object: &metav1.ObjectMeta{Name: strings.Repeat("n", 51) + strings.Repeat(".", 200), UID: "u"}}
	if name := long.objectName("restore"); len(name) > 63 || strings.Contains(name, ".-") {
		t.Errorf("the name of %d bytes is %s", len(name), name)
	}
	named := restore()
	named.SetName("mine")
	if got := owner.New("restore", types.NamespacedName{}, "id", named, noon, time.Hour).Object; got != "velero.io/v1/Restore/velero/mine" {
		t.Errorf("a name that was given became %s", got)
	}
}
