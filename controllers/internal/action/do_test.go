package action

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

var (
	errAway  = errors.New("no answer")
	restores = schema.GroupResource{Group: "velero.io", Resource: "restores"}
)

// answers is a cluster that says what a test wants it to, which real ones cannot be made to.
type answers struct {
	confirm, create, find, delete error
	// there is what is there; nil for nothing.
	there *metav1.PartialObjectMetadata
	// stays: what is deleted has a finalizer.
	stays    bool
	requests []string
}

func (a *answers) Confirm(context.Context) error {
	a.requests = append(a.requests, "confirm")
	return a.confirm
}

func (a *answers) Create(_ context.Context, _ objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error) {
	a.requests = append(a.requests, "create")
	if a.create != nil {
		return nil, a.create
	}
	made := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(body, made); err != nil {
		return nil, err
	}
	made.UID = "made"
	a.there = made
	return made, nil
}

func (a *answers) Find(context.Context, objects.Ref) (*metav1.PartialObjectMetadata, error) {
	a.requests = append(a.requests, "find")
	return a.there, a.find
}

func (a *answers) Delete(_ context.Context, _ objects.Ref, uid types.UID) error {
	a.requests = append(a.requests, "delete "+string(uid))
	if a.delete == nil && !a.stays {
		a.there = nil
	}
	return a.delete
}

func existing(uid, action string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{metav1alpha1.LabelAction: action}}}
}

func TestAnActionMakesItsObjectOnce(t *testing.T) {
	exists := apierrors.NewAlreadyExists(restores, "weekly")
	for name, row := range map[string]struct {
		cluster  answers
		uid      string
		outcome  metav1alpha1.ActionOutcome
		failed   bool
		says     string
		requests string
	}{
		"it is made":                          {uid: "made", requests: "confirm create"},
		"it was made before the manager died": {cluster: answers{create: exists, there: existing("first", "owner")}, uid: "first", requests: "confirm create find"},
		"somebody else has one of that name":  {cluster: answers{create: exists, there: existing("theirs", "")}, outcome: metav1alpha1.ActionFailed, says: "delete or rename it", requests: "confirm create find"},
		"another run has one of that name":    {cluster: answers{create: exists, there: existing("theirs", "another")}, outcome: metav1alpha1.ActionFailed, requests: "confirm create find"},
		"it is there, and cannot be read":     {cluster: answers{create: exists}, failed: true, requests: "confirm create find"},
		"it is there, and its reading fails":  {cluster: answers{create: exists, find: errAway}, failed: true, requests: "confirm create find"},
		"it is another cluster":               {cluster: answers{confirm: errAway}, failed: true, requests: "confirm"},
		"the cluster refuses it":              {cluster: answers{create: apierrors.NewInvalid(schema.GroupKind{Kind: "Restore"}, "weekly", nil)}, outcome: metav1alpha1.ActionFailed, says: "make Restore velero/weekly-restore-", requests: "confirm create"},
		"the cluster does not answer":         {cluster: answers{create: errAway}, failed: true, requests: "confirm create"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Do(t.Context(), &row.cluster, owner, begun(), Make, restore(), noon)
			if a.UID != row.uid || a.Outcome != row.outcome || (err != nil) != row.failed || !strings.Contains(a.Message, row.says) {
				t.Errorf("uid %q, outcome %q, message %q, error %v", a.UID, a.Outcome, a.Message, err)
			}
			if got := strings.Join(row.cluster.requests, " "); got != row.requests {
				t.Errorf("requests %s, want %s", got, row.requests)
			}
			if made := row.cluster.there; made != nil && made.UID == "made" && made.Labels[metav1alpha1.LabelAction] != "owner" {
				t.Errorf("it has the labels %v", made.Labels)
			}
		})
	}
}

func TestAnActionFailsWhenItsObjectIsGone(t *testing.T) {
	for name, row := range map[string]struct {
		cluster answers
		outcome metav1alpha1.ActionOutcome
		failed  bool
	}{
		"gone":         {outcome: metav1alpha1.ActionFailed},
		"made anew":    {cluster: answers{there: existing("other", "owner")}, outcome: metav1alpha1.ActionFailed},
		"there":        {cluster: answers{there: existing("a", "owner")}},
		"nobody knows": {cluster: answers{find: errAway}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := begun()
			before.UID = "a"
			a, err := Do(t.Context(), &row.cluster, owner, before, Look, nil, noon)
			if a.Outcome != row.outcome || (err != nil) != row.failed {
				t.Errorf("outcome %q, error %v", a.Outcome, err)
			}
		})
	}
}

func TestRemovalOfWhatAnActionMade(t *testing.T) {
	deleted := existing("a", "owner")
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	for name, row := range map[string]struct {
		cluster  answers
		uid      string
		gone     bool
		failed   bool
		requests string
	}{
		"it is removed":                          {cluster: answers{there: existing("a", "owner")}, uid: "a", gone: true, requests: "find confirm delete a find"},
		"it has a finalizer":                     {cluster: answers{there: existing("a", "owner"), stays: true}, uid: "a", requests: "find confirm delete a find"},
		"it is on its way":                       {cluster: answers{there: deleted}, uid: "a", requests: "find"},
		"it is gone":                             {uid: "a", gone: true, requests: "find confirm"},
		"it is gone from another cluster":        {cluster: answers{confirm: errAway}, uid: "a", gone: true, failed: true, requests: "find confirm"},
		"another one has its name":               {cluster: answers{there: existing("b", "owner")}, uid: "a", gone: true, requests: "find confirm"},
		"it was made, and nobody knew":           {cluster: answers{there: existing("a", "owner")}, gone: true, requests: "find confirm delete a find"},
		"it was never made, and theirs is there": {cluster: answers{there: existing("b", "")}, gone: true, requests: "find confirm"},
		"its deletion is answered with a 404":    {cluster: answers{there: existing("a", "owner"), delete: apierrors.NewNotFound(restores, "weekly")}, uid: "a", requests: "find confirm delete a find"},
		"its deletion fails":                     {cluster: answers{there: existing("a", "owner"), delete: errAway}, uid: "a", failed: true, requests: "find confirm delete a"},
		"nobody knows":                           {cluster: answers{find: errAway}, uid: "a", failed: true, requests: "find"},
	} {
		t.Run(name, func(t *testing.T) {
			a := begun()
			a.UID = row.uid
			gone, err := Remove(t.Context(), &row.cluster, owner, a)
			if gone != row.gone || (err != nil) != row.failed {
				t.Errorf("gone %v, error %v", gone, err)
			}
			if got := strings.Join(row.cluster.requests, " "); got != row.requests {
				t.Errorf("requests %s, want %s", got, row.requests)
			}
		})
	}
}
