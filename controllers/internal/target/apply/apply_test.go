package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// interrupted are stages that cannot end what another operation left running.
type interrupted struct {
	NoStages
	err error
}

// Begin implements Stages.
func (i interrupted) Begin(context.Context) error { return i.err }

// unused is a journal that nothing is to be stored in.
type unused struct{ *testing.T }

// Intend implements Journal.
func (u unused) Intend(context.Context, Inventory) error {
	u.Error("it is recorded that something is about to be applied")
	return nil
}

// Without a cluster, any further step panics.
func TestWhereTheStagesDoNotBeginNothingIsRecordedOrApplied(t *testing.T) {
	refused := errors.New("delete hook Job cache/migrate, which was interrupted: refused")
	c := declared(objects.Ref{Name: "c"}, "1")
	applier := &Applier{Stages: interrupted{err: refused}, Journal: unused{t}}
	o := Observation{Now: noon, Desired: []Object{c}, Inventory: Inventory{}}
	done := applier.Apply(t.Context(), o, Plan{Begins: true, Rest: []Write{{Object: c, Purpose: PurposeCreate}}})
	if !errors.Is(done.Err, refused) || len(done.Written) > 0 || len(done.Inventory) > 0 {
		t.Errorf("it ends with %v, %d objects written and %d listed", done.Err, len(done.Written), len(done.Inventory))
	}
}

func TestATargetThatLosesTheRaceForAClaimPlansAgain(t *testing.T) {
	tracked := tracker.New(func(tracker.Owner, bool) {})
	ours, theirs := tracker.Owner{Kind: "Note"}, tracker.Owner{Kind: "Note"}
	ours.Name, theirs.Name = "ours", "theirs"
	c := declared(objects.Ref{Name: "c"}, "1")
	o := Observation{Now: noon, Desired: []Object{c}, Inventory: Inventory{}, Owners: map[objects.Key]string{}}
	if planned := NewPlan(o); len(planned.Rest) != 1 {
		t.Fatalf("before the race, %d writes are planned", len(planned.Rest))
	}
	tracked.Claim(theirs, c.Key())
	if err := o.Claim(tracked, ours); err == nil {
		t.Error("what another target was faster to claim is claimed too")
	}
	o.Owners[c.Key()] = "theirs"
	if planned := NewPlan(o); len(planned.Rest) > 0 || len(planned.Conflicts) != 1 {
		t.Errorf("planned again, there are %d writes and %d conflicts", len(planned.Rest), len(planned.Conflicts))
	}
	if err := o.Claim(tracked, ours); err != nil {
		t.Errorf("the next plan does not get past the claim: %v", err)
	}
}

// begun are stages that must not begin.
type begun struct {
	NoStages
	*testing.T
}

// Begin implements Stages.
func (b begun) Begin(context.Context) error {
	b.Error("the stages begin")
	return nil
}

func TestWhatIsNotVerifiedIsNeitherRecordedNorApplied(t *testing.T) {
	first, second := declared(objects.Ref{Name: "first"}, "1"), declared(objects.Ref{Name: "second"}, "1")
	var shown []Object
	applier := &Applier{
		Stages: begun{T: t}, Journal: unused{t},
		Verify: func(_ context.Context, list []Object) error {
			shown = list
			return &VerificationError{Reason: "the key does not fit the certificate"}
		},
	}
	o := Observation{Now: noon, Desired: []Object{first, second}, Inventory: Inventory{}}
	p := Plan{Begins: true, Prerequisites: []Write{{Object: first}}, Rest: []Write{{Object: second}}}
	done := applier.Apply(t.Context(), o, p)
	var refused *VerificationError
	if !errors.As(done.Err, &refused) || refused.Reason != "the key does not fit the certificate" || len(done.Written) > 0 || len(done.Inventory) > 0 {
		t.Errorf("it ends with %v, %d objects written and %d listed", done.Err, len(done.Written), len(done.Inventory))
	}
	if len(shown) != 2 || shown[0].Name != "first" || shown[1].Name != "second" {
		t.Errorf("it was asked about %v", shown)
	}
}

func TestAPlanThatWritesNothingIsNotVerified(t *testing.T) {
	applier := &Applier{Stages: NoStages{}, Journal: unused{t}, Verify: func(context.Context, []Object) error {
		t.Error("it was asked about nothing")
		return nil
	}}
	if err := applier.verify(t.Context(), Plan{Removals: []Removal{{}}}); err != nil {
		t.Error(err)
	}
}
