package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/resources"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// unreliable is a cluster with one object, which answers to deletions as it is told.
type unreliable struct {
	// object is what is there; nil for nothing.
	object *metav1.PartialObjectMetadata
	// answers to deletions, one after the other; then they succeed.
	answers []error
	// effect of each deletion on the object, whatever the answer is.
	effect  func(*unreliable)
	content fleet.Blocker
	trouble error
	// other is why nobody knows which cluster answers.
	other   error
	deletes int
}

func (u *unreliable) ServedRef(_ context.Context, ref objects.Ref) (objects.Ref, bool, error) {
	return ref, true, nil
}

func (u *unreliable) Confirm(context.Context) error { return u.other }

func (u *unreliable) Find(context.Context, objects.Ref) (*metav1.PartialObjectMetadata, error) {
	return u.object, nil
}

func (u *unreliable) ContentOf(context.Context, objects.Ref) (fleet.Blocker, error) {
	return u.content, u.trouble
}

func (u *unreliable) Delete(context.Context, objects.Ref, types.UID) error {
	u.deletes++
	if u.effect != nil {
		u.effect(u)
	}
	if len(u.answers) == 0 {
		return nil
	}
	answer := u.answers[0]
	u.answers = u.answers[1:]
	return answer
}

func OwnsNothing(metav1.Object) bool { return false }

func (u *unreliable) try(one Removal) Removed {
	return (&remover{cluster: u, installation: installation, owns: OwnsNothing, now: noon}).one(context.Background(), one)
}

func TestADeletionIsBelievedOnlyWhenItIsSeen(t *testing.T) {
	resource := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	conflict := apierrors.NewConflict(resource, "w", errors.New("try again"))
	notFound := apierrors.NewNotFound(resource, "w")
	gone := func(u *unreliable) { u.object = nil }
	rows := map[string]struct {
		answers []error
		effect  func(*unreliable)
		want    string
		deletes int
	}{
		"an answer is a promise":                       {nil, nil, "pending", 1},
		"a conflict that passes":                       {[]error{conflict}, nil, "pending", 2},
		"a conflict that stays":                        {[]error{conflict, conflict, conflict}, nil, "failed", 3},
		"a conflict because it is gone":                {[]error{conflict}, gone, "gone", 1},
		"a conflict because another has its name":      {[]error{conflict}, func(u *unreliable) { u.object = live(widgetRef("w"), "other") }, "gone", 1},
		"a conflict though it took effect":             {[]error{conflict}, func(u *unreliable) { u.object = terminating(live(widgetRef("w"), "u", "f")) }, "pending", 1},
		"not found, and that is so":                    {[]error{notFound}, gone, "gone", 1},
		"not found, which is not so":                   {[]error{notFound, notFound, notFound}, nil, "failed", 3},
		"an answer that says nothing about the object": {[]error{errors.New("connection reset")}, gone, "failed", 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			cluster := &unreliable{object: live(widgetRef("w"), "u"), answers: row.answers, effect: row.effect}
			result := cluster.try(Removal{Entry: Entry{Ref: widgetRef("w"), UID: "u", Fingerprint: "f"}})
			if got := describeResult(result); got != row.want || cluster.deletes != row.deletes {
				t.Errorf("it is %s (%v) after %d deletions, want %s after %d", got, result.err, cluster.deletes, row.want, row.deletes)
			}
			if row.want == "pending" && !result.Deletion.Next.After(noon) {
				t.Error("it is never looked at again")
			}
		})
	}
}

func describeResult(result Removed) string {
	switch {
	case result.err != nil:
		return "failed"
	case result.gone:
		return "gone"
	case result.because != "":
		return "left"
	}
	return "pending"
}

func TestNothingIsGoneThatAnotherClusterDoesNotHave(t *testing.T) {
	cluster := &unreliable{other: errors.New("another cluster answers")}
	r := &remover{slice: &slice{clock: testingclock.NewFakePassiveClock(noon), ends: noon.Add(DefaultSlice)}, cluster: cluster, installation: installation, owns: OwnsNothing, now: noon}
	one := Removal{Entry: Entry{Ref: widgetRef("w"), UID: "u", Fingerprint: "f"}, seen: &tracker.Seen{Gone: true, At: noon}}
	if got := r.all(context.Background(), []Removal{one}); describeResult(got[0]) != "failed" {
		t.Errorf("it is %s", describeResult(got[0]))
	}
	cluster.other = nil
	if got := r.all(context.Background(), []Removal{one}); describeResult(got[0]) != "gone" {
		t.Errorf("it is %s", describeResult(got[0]))
	}
}

func TestAHookIsDeletedOnlyIfThatIsSeen(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, "w", errors.New("try again"))
	for name, row := range map[string]struct {
		object *metav1.PartialObjectMetadata
		fails  bool
	}{
		"it is there":          {live(widgetRef("w"), "u"), true},
		"it is gone":           {nil, false},
		"another has its name": {live(widgetRef("w"), "other"), false},
		"it is going":          {terminating(live(widgetRef("w"), "u")), false},
	} {
		cluster := &unreliable{object: row.object, answers: []error{conflict}}
		if err := Delete(context.Background(), cluster, widgetRef("w"), "u"); (err != nil) != row.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was sent may have been lost, and a list that lacks the object may be of another server.
func TestADeletionThatIsNotSeenIsSentAgain(t *testing.T) {
	cluster := &unreliable{object: live(widgetRef("w"), "u")}
	one := Removal{Entry: Entry{Ref: widgetRef("w"), UID: "u", Fingerprint: "f"}, seen: &tracker.Seen{UID: "u"}}
	now := noon
	for want := 1; want <= 4; want++ {
		result := (&remover{cluster: cluster, installation: installation, owns: OwnsNothing, now: now}).one(context.Background(), one)
		if describeResult(result) != "pending" || cluster.deletes != want {
			t.Fatalf("it is %s after %d deletions, want %d", describeResult(result), cluster.deletes, want)
		}
		one.Deletion = result.Deletion
		early := (&remover{cluster: cluster, installation: installation, owns: OwnsNothing, now: now}).one(context.Background(), one)
		if describeResult(early) != "pending" || cluster.deletes != want {
			t.Fatalf("it is sent again before there was time: %d", cluster.deletes)
		}
		now = one.Deletion.Next
	}
	cluster.object = nil
	one.Deletion.Next = now
	if result := (&remover{cluster: cluster, installation: installation, owns: OwnsNothing, now: now}).one(context.Background(), one); !result.gone {
		t.Errorf("it is %s", describeResult(result))
	}
}

func TestANamespaceGoesOnlyIfItIsKnownToBeEmpty(t *testing.T) {
	undiscovered := &resources.UndiscoveredError{GroupVersion: schema.GroupVersion{Group: "broken.example.com", Version: "v1"}}
	rows := map[string]struct {
		cluster unreliable
		adopted bool
		want    string
		says    string
	}{
		"it is empty":         {unreliable{}, false, "pending", ""},
		"it was there before": {unreliable{}, true, "left", "it was there before"},
		"it holds something":  {unreliable{content: fleet.Blocker{Kind: "Pod", Name: "p"}}, false, "left", "it still holds Pod p"},
		"it holds what goes":  {unreliable{content: fleet.Blocker{Kind: "Pod", Name: "p", Passing: true}}, false, "pending", "it still holds Pod p, which is going"},
		"nobody can tell":     {unreliable{trouble: undiscovered}, false, "failed", "APIService v1.broken.example.com"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			ref := namespaceRef("acme")
			row.cluster.object = live(ref, "u")
			result := row.cluster.try(Removal{Entry: Entry{Ref: ref, UID: "u", Fingerprint: "f", Adopted: row.adopted}})
			said := fmt.Sprint(result.because, result.Deletion.why, result.err)
			if got := describeResult(result); got != row.want || !strings.Contains(said, row.says) {
				t.Errorf("it is %s: %s; want %s: %s", got, said, row.want, row.says)
			}
			if sent := row.cluster.deletes > 0; sent != (name == "it is empty") {
				t.Errorf("it was deleted: %t", sent)
			}
		})
	}
}

func TestAWebhookThatDoesNotAnswerHoldsCustomResourcesForATimeOnly(t *testing.T) {
	silent := apierrors.NewInternalError(errors.New(`failed calling webhook "widgets.example.com": connection refused`))
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "w", errors.New("admission webhook denied the request"))
	try := func(answer error, one Removal, at time.Time) Removed {
		cluster := &unreliable{object: live(widgetRef("w"), "u"), answers: []error{answer}}
		return (&remover{cluster: cluster, installation: installation, owns: OwnsNothing, now: at}).one(context.Background(), one)
	}
	one := Removal{Entry: Entry{Ref: widgetRef("w"), UID: "u", Fingerprint: "f"}}
	first := try(silent, one, noon)
	if mayUnblock([]Removed{first}, noon.Add(59*time.Second), time.Minute) {
		t.Error("the webhook has no time to come back")
	}
	second := try(silent, first.Removal, noon.Add(time.Minute))
	if !mayUnblock([]Removed{second}, noon.Add(time.Minute), time.Minute) {
		t.Errorf("it is waited for longer than a minute: %+v", second.Deletion)
	}
	if said := try(denied, first.Removal, noon.Add(time.Hour)); mayUnblock([]Removed{said}, noon.Add(time.Hour), time.Minute) {
		t.Error("a webhook that says no is not obeyed")
	}
	if heard := try(nil, second.Removal, noon.Add(time.Hour)); mayUnblock([]Removed{heard}, noon.Add(time.Hour), time.Minute) {
		t.Error("a webhook that answered again is not waited for")
	}
}
