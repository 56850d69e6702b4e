package deletion

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	drills  = tenancyv1alpha1.DeletionStoppingDrills
	backup  = tenancyv1alpha1.DeletionFinalBackup
	addons  = tenancyv1alpha1.DeletionRemovingTargets
	removal = tenancyv1alpha1.DeletionRemovingCluster
	over    = tenancyv1alpha1.DeletionReleasing
)

// start is when the deletion was asked for. The timeout is 20 minutes.
var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func minutes(count float64) time.Time {
	return start.Add(time.Duration(count * float64(time.Minute))).UTC()
}

// ordered is an ordered cluster that answers, a minute after its deletion, with nothing in it.
func ordered() *Situation {
	at := metav1.NewTime(start)
	cluster := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "prod", DeletionTimestamp: &at},
		Spec:       tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{}},
		Status:     tenancyv1alpha1.TenantClusterStatus{ClusterID: "blue"},
	}
	cluster.Spec.Deletion.Timeout = &metav1.Duration{Duration: 20 * time.Minute}
	return &Situation{Now: minutes(1), Cluster: cluster, Removal: Removal{Needed: true, Message: "Cluster API removes Cluster prod"}}
}

func (s *Situation) imported() *Situation {
	s.Cluster.Spec.Topology, s.Removal = nil, Removal{}
	return s
}

func (s *Situation) at(minute float64) *Situation { s.Now = minutes(minute); return s }

// on has a step on record since some minute.
func (s *Situation) on(step tenancyv1alpha1.DeletionStep, since float64) *Situation {
	s.Cluster.Status.Deletion = &tenancyv1alpha1.Deletion{Step: step, Since: metav1.NewTime(minutes(since))}
	return s
}

// dead since some minute.
func (s *Situation) dead(since float64) *Situation {
	s.Unreachable = Unreachable{Since: minutes(since), Why: "no answer in time"}
	return s
}

func (s *Situation) drilled() *Situation { s.Drills = []string{"DRDrill acme/weekly"}; return s }

// backedUp wants a final backup of enrollments whose last success was at these minutes.
func (s *Situation) backedUp(at ...float64) *Situation {
	s.Cluster.Spec.Deletion.FinalBackup = true
	for i, minute := range at {
		name := types.NamespacedName{Namespace: "acme", Name: string(rune('a' + i))}
		s.Enrollments = append(s.Enrollments, Enrollment{NamespacedName: name, LastSuccess: minutes(minute)})
	}
	return s
}

func (s *Situation) with(change func(*Situation)) *Situation { change(s); return s }

// addon has an AddonRelease in the cluster.
func (s *Situation) addon(name string) *Situation {
	s.Targets = append(s.Targets, Target{Kind: "AddonRelease", PolicyKind: "SaaSAddon", NamespacedName: types.NamespacedName{Namespace: "acme", Name: name}})
	return s
}

func TestNext(t *testing.T) {
	tests := map[string]struct {
		situation *Situation
		step      tenancyv1alpha1.DeletionStep
		// deadline in minutes; 0 for none.
		deadline float64
		says     string
		givenUp  int
	}{
		"nothing is there": {situation: ordered().imported(), step: over},
		"an ordered cluster with nothing in it goes at once":     {situation: ordered(), step: removal, deadline: 21, says: "Cluster API removes Cluster prod"},
		"a drill is awaited, however long it takes":              {situation: ordered().at(300).on(drills, 0).drilled().addon("x"), step: drills, says: "DRDrill acme/weekly"},
		"a drill in a dead cluster is awaited for half the time": {situation: ordered().drilled().dead(-30).addon("x"), step: drills, deadline: 10, says: "no answer in time"},
		"a cluster that died later has as long from then":        {situation: ordered().at(5).on(drills, 0).drilled().dead(4), step: drills, deadline: 14},
		"a drill in a dead cluster is given up":                  {situation: ordered().at(10).on(drills, 0).drilled().dead(0).addon("x"), step: addons, deadline: 15, givenUp: 1},
		"nothing is given up before somebody tried to connect": {
			situation: ordered().at(300).on(drills, 0).drilled().dead(0).with(func(s *Situation) { s.Unreachable.Untried = true }), step: drills, deadline: 10,
		},
		"a drill that stopped passes": {situation: ordered().at(5).on(drills, 0).addon("x"), step: addons, deadline: 20, says: "AddonRelease acme/x"},

		"the one that was asked for will do":   {situation: ordered().backedUp(-1).with(asked("")), step: removal, deadline: 21},
		"unless it is not a good one":          {situation: ordered().backedUp(-1).with(asked("Failed: no room")), step: backup, says: "Failed: no room; ask again"},
		"nobody backs it up":                   {situation: ordered().backedUp(), step: backup, says: "no BackupEnrollment has this cluster"},
		"the way out is told":                  {situation: ordered().backedUp(), step: backup, says: "set spec.deletion.finalBackup to false"},
		"an old backup will not do":            {situation: ordered().backedUp(-1), step: backup, says: "acme/a (the last one at 2030-01-01T11:59:00Z)"},
		"nor one of the same second":           {situation: ordered().backedUp(0), step: backup},
		"one of two will not do":               {situation: ordered().backedUp(1, -1), step: backup, says: "by BackupEnrollment acme/b"},
		"it is awaited however long it takes":  {situation: ordered().at(3000).on(backup, 1).backedUp(-1), step: backup},
		"all are made":                         {situation: ordered().at(30).on(backup, 1).backedUp(2, 3).addon("x"), step: addons, deadline: 45},
		"none is made of what was not reached": {situation: ordered().backedUp().with(func(s *Situation) { s.Cluster.Status.ClusterID = "" }), step: removal, deadline: 21},
		"none is made unless asked for":        {situation: ordered(), step: removal, deadline: 21},
		"a dead cluster goes without one":      {situation: ordered().at(10).on(backup, 1).backedUp(-1).dead(0).addon("x"), step: addons, deadline: 15, givenUp: 1},
		"but not the moment it dies":           {situation: ordered().at(300).on(backup, 1).backedUp(-1).dead(299), step: backup, deadline: 309},
		"drills do not come again":             {situation: ordered().on(backup, 1).drilled().backedUp(-1), step: backup},
		"nor do backups":                       {situation: ordered().on(addons, 1).drilled().backedUp(-1).addon("x"), step: addons, deadline: 16},

		"add-ons of an imported cluster that answers have all the time": {situation: ordered().imported().at(300).on(addons, 1).addon("x"), step: addons},
		"those of a dead one have the timeout":                          {situation: ordered().imported().on(addons, 1).addon("x").dead(-5), step: addons, deadline: 20},
		"also after a backup that was given up":                         {situation: ordered().imported().at(11).on(addons, 10).addon("x").dead(-5), step: addons, deadline: 20},
		"but not the moment it dies, however long it was waited for":    {situation: ordered().imported().at(300).on(addons, 1).addon("x").dead(300), step: addons, deadline: 320},
		"nor when it dies after a backup that took long":                {situation: ordered().imported().at(305).on(addons, 300).addon("x").dead(304), step: addons, deadline: 324},
		"those of an ordered one leave time to the cluster":             {situation: ordered().on(addons, 1).addon("x"), step: addons, deadline: 16},
		"a cluster that dies meanwhile gets no more time":               {situation: ordered().on(addons, 1).addon("x").dead(5), step: addons, deadline: 16},
		"what came before takes no share away":                          {situation: ordered().at(40).on(addons, 40).addon("x").dead(0), step: addons, deadline: 45},
		"a guard is told of": {
			situation: ordered().on(addons, 1).addon("x").with(func(s *Situation) { s.Targets[0].HeldBy = "SaaSAddon acme/cache" }),
			step:      addons, deadline: 16, says: "AddonRelease acme/x is held back by the withdrawal guard of SaaSAddon acme/cache",
		},
		"what the guard held up has its time from then": {
			situation: ordered().at(31).on(addons, 1).addon("x").with(func(s *Situation) { s.Targets[0].Deleted = minutes(31) }),
			step:      addons, deadline: 16, says: "at most until 2030-01-01T12:46:00Z",
		},
		"also where the cluster fell silent meanwhile": {
			situation: ordered().imported().at(601).on(addons, 1).addon("x").dead(300).with(func(s *Situation) { s.Targets[0].Deleted = minutes(600) }),
			step:      addons, deadline: 320, says: "at most until 2030-01-01T22:20:00Z",
		},

		"add-ons are gone":                          {situation: ordered().at(8).on(addons, 1), step: removal, deadline: 28},
		"those of a dead cluster":                   {situation: ordered().at(15).on(addons, 1).dead(0), step: removal, deadline: 20},
		"a removal that takes too long is overdue":  {situation: ordered().at(28).on(removal, 8).with(begun), step: over},
		"it is asked for in any case":               {situation: ordered().at(28).on(removal, 8), step: removal, deadline: 28},
		"the cluster is gone":                       {situation: ordered().at(9).on(removal, 8).with(gone), step: over},
		"nobody can tell whether it is":             {situation: ordered().at(300).on(removal, 8).with(unknown), step: removal, deadline: 28, says: "does not tell"},
		"a target that came late is awaited":        {situation: ordered().at(9).on(removal, 8).with(gone).addon("x"), step: removal, deadline: 28, says: "acme/x"},
		"what was to be let go is not looked at":    {situation: ordered().on(over, 1).backedUp(-1).drilled(), step: over},
		"all of it is passed where nothing is left": {situation: ordered().with(gone), step: over},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			step := Next(*test.situation)
			var deadline time.Time
			if step.Record.Deadline != nil {
				deadline = step.Record.Deadline.UTC()
			}
			want := minutes(test.deadline)
			if test.deadline == 0 {
				want = time.Time{}
			}
			if step.Record.Step != test.step || step.Over != (test.step == over) || !deadline.Equal(want) || len(step.GivenUp) != test.givenUp {
				t.Errorf("got %s until %s, over %t, given up %+v; want %s until %s", step.Record.Step, deadline, step.Over, step.GivenUp, test.step, want)
			}
			if !strings.Contains(step.Waits, test.says) || (step.Waits == "") != step.Over {
				t.Errorf("it says %q, not %q", step.Waits, test.says)
			}
			if !step.WakeAt.IsZero() && step.WakeAt.Before(test.situation.Now) {
				t.Errorf("it wakes up at %s", step.WakeAt)
			}
		})
	}
}

func begun(s *Situation) { s.Removal.Begun = true }

func gone(s *Situation) { s.Removal = Removal{} }

// asked has the first enrollment answer that it was asked for a backup when the cluster was deleted.
func asked(problem string) func(*Situation) {
	return func(s *Situation) {
		at := start.Format(time.RFC3339)
		s.Enrollments[0].Requested, s.Enrollments[0].Answered, s.Enrollments[0].Problem = at, at, problem
	}
}

func unknown(s *Situation) { s.Removal = Removal{Needed: true, Unknown: true} }

// However the steps share it, a cluster that does not answer from the start takes the timeout.
func TestADeadClusterTakesTheTimeoutInAll(t *testing.T) {
	for name, situation := range map[string]*Situation{
		"ordered":                 ordered().addon("x"),
		"ordered, with a backup":  ordered().backedUp(-1).addon("x"),
		"ordered, with a drill":   ordered().drilled().addon("x"),
		"imported":                ordered().imported().addon("x"),
		"imported, with a backup": ordered().imported().backedUp(-1).drilled().addon("x"),
	} {
		t.Run(name, func(t *testing.T) {
			s := *situation.dead(-60).at(0)
			var last time.Time
			for step := Next(s); !step.Over; step = Next(s) {
				if !step.Record.Deadline.After(s.Now) && !step.DeleteCluster {
					t.Fatalf("%s has no time at %s", step.Record.Step, s.Now)
				}
				last = step.Record.Deadline.Time
				s.Cluster.Status.Deletion = &step.Record
				s.Now = last
				if step.Record.Step == addons {
					s.Targets = nil // Let go, though nobody cleaned up.
				}
				s.Removal.Begun = s.Removal.Begun || step.DeleteCluster
			}
			if !last.Equal(minutes(20)) {
				t.Errorf("it takes until %s", last)
			}
		})
	}
}

func TestNoTimeIsPromisedForWhatNobodyDeletedYet(t *testing.T) {
	situation := ordered().on(addons, 1).addon("x").addon("y").with(func(s *Situation) { s.Targets[1].Deleted = minutes(2) })
	const want = "waits until AddonRelease acme/x is gone, which its SaaSAddon has not deleted yet: " +
		"if it does not soon, its condition Ready says why; if it is gone itself, delete the AddonRelease; " +
		"waits until AddonRelease acme/y is gone, at most until 2030-01-01T12:17:00Z"
	if got := Next(*situation).Waits; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTargetsAreNamedByTheirKind(t *testing.T) {
	note := func(s *Situation) {
		s.Targets = append(s.Targets, Target{Kind: "Note", PolicyKind: "NotePolicy", NamespacedName: types.NamespacedName{Namespace: "acme", Name: "z"}})
	}
	run := func(s *Situation) { s.Targets[len(s.Targets)-1].PolicyKind = "" }
	held := func(s *Situation) {
		s.Targets[0].HeldBy, s.Targets[1].HeldBy = "SaaSAddon acme/cache", "NotePolicy acme/notes"
	}
	deleted := func(s *Situation) {
		for i := range s.Targets {
			s.Targets[i].Deleted = minutes(2)
		}
	}
	for name, row := range map[string]struct {
		situation *Situation
		says      string
	}{
		"deleted": {
			ordered().on(addons, 1).addon("x").addon("y").with(note).with(deleted),
			"waits until AddonRelease acme/x, acme/y and Note acme/z are gone, at most until 2030-01-01T12:17:00Z",
		},
		"not deleted": {
			ordered().on(addons, 1).addon("x").with(note),
			"waits until AddonRelease acme/x is gone, which its SaaSAddon has not deleted yet: if it does not soon, its condition Ready says why; " +
				"if it is gone itself, delete the AddonRelease; waits until Note acme/z is gone, which its NotePolicy has not deleted yet: " +
				"if it does not soon, its condition Ready says why; if it is gone itself, delete the Note",
		},
		"held back": {
			ordered().on(addons, 1).addon("x").with(note).with(held),
			"AddonRelease acme/x and Note acme/z are held back by the withdrawal guard of NotePolicy acme/notes, SaaSAddon acme/cache: " +
				"the provider lets it go with the annotation " + metav1alpha1.AnnotationConfirmWithdrawal + " there, whose condition Stalled says the value",
		},
		"without a policy":      {ordered().on(addons, 1).with(note).with(run), "waits until Note acme/z is gone: delete it"},
		"that came late":        {ordered().on(removal, 1).with(note).with(gone), "waits until Note acme/z is gone"},
		"of two kinds and late": {ordered().on(removal, 1).addon("x").with(note).with(gone), "waits until AddonRelease acme/x and Note acme/z are gone"},
	} {
		if got := Next(*row.situation).Waits; got != row.says {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, row.says)
		}
	}
}

func TestStepsNeverGoBack(t *testing.T) {
	names := []tenancyv1alpha1.DeletionStep{drills, backup, addons, removal, over}
	for i, before := range names {
		step := Next(*ordered().on(before, 0).drilled().backedUp(-1).addon("x"))
		if at := slices.Index(names, step.Record.Step); at < i {
			t.Errorf("%s comes after %s", step.Record.Step, before)
		}
	}
}

func TestAClusterIsRemovedOnlyOnceThatIsOnRecord(t *testing.T) {
	if step := Next(*ordered().on(addons, 0)); step.Record.Step != removal || step.DeleteCluster {
		t.Errorf("planned %+v", step)
	}
	if step := Next(*ordered().on(removal, 0)); !step.DeleteCluster {
		t.Errorf("planned %+v", step)
	}
	if step := Next(*ordered().on(removal, 0).with(begun)); step.DeleteCluster {
		t.Errorf("planned %+v", step)
	}
}

func TestABackupIsRequestedOnce(t *testing.T) {
	situation := ordered().backedUp(-1, -1, -1, 1)
	enrollments := situation.Enrollments
	enrollments[1].Requested = start.Format(time.RFC3339)
	enrollments[2].Requested = "yesterday"
	var asked []string
	for _, name := range Next(*situation).Request {
		asked = append(asked, name.Name)
	}
	if strings.Join(asked, " ") != "a c" {
		t.Errorf("asked %v", asked)
	}
	if at := Next(*situation).WakeAt; !at.IsZero() {
		t.Errorf("it looks again at %s, though the backups are watched", at)
	}
}

func TestTheRecordOfAStepThatWaitsStays(t *testing.T) {
	first := Next(*ordered().backedUp(-1))
	situation := ordered().at(2).backedUp(-1)
	situation.Cluster.Status.Deletion = &first.Record
	if again := Next(*situation); again.Record != first.Record || again.Waits != first.Waits {
		t.Errorf("%+v became %+v", first, again)
	}
}
