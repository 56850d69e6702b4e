package drills

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
)

// withPlan is at noon, with the plan weekly, which was there since a time; since never, if that is zero.
func withPlan(cron string, since time.Time) Situation {
	s := Situation{Enrollment: &backupv1alpha1.BackupEnrollment{}, Now: backuptest.Noon}
	s.Enrollment.Namespace, s.Enrollment.UID = "acme", "enrollment"
	s.Enrollment.Labels = map[string]string{metav1alpha1.LabelPolicy: "nightly"}
	s.Enrollment.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod.eu"}
	s.Enrollment.Spec.Drills = []backupv1alpha1.DrillPlan{{
		Name: "weekly", Schedule: backupv1alpha1.Recurrence{Cron: cron, Spread: &metav1.Duration{}}, HistoryLimit: ptr.To[int32](2),
		DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
	}}
	if !since.IsZero() {
		s.Recorded = []backupv1alpha1.DrillPlanStatus{{Name: "weekly", ScheduledAt: metav1.NewTime(since)}}
	}
	return s
}

func byPlan(name string, hoursAgo int, finished bool) backupv1alpha1.DRDrill {
	drill := backuptest.Drilled(name, backupv1alpha1.DrillPassed, hoursAgo)
	drill.Labels = map[string]string{metav1alpha1.LabelDrillPlan: "weekly"}
	if finished {
		drill.Status.FinishedAt = drill.Status.EndedAt
	}
	return drill
}

// noon is Monday, 2026-11-23, 12:00.
func TestWhenAPlanMakesADrill(t *testing.T) {
	for name, row := range map[string]struct {
		cron   string
		since  time.Time
		drills []backupv1alpha1.DRDrill
		// due is the start of the drill that is made; zero for none.
		due, next time.Time
	}{
		"a new plan waits for its first start":   {cron: "0 11 * * *", next: backuptest.Noon.Add(23 * time.Hour)},
		"its start has come":                     {cron: "0 11 * * *", since: backuptest.Noon.Add(-2 * time.Hour), due: backuptest.Noon.Add(-time.Hour), next: backuptest.Noon.Add(23 * time.Hour)},
		"its start is now":                       {cron: "0 12 * * *", since: backuptest.Noon.Add(-2 * time.Hour), due: backuptest.Noon, next: backuptest.Noon.Add(24 * time.Hour)},
		"it was made for this start":             {cron: "0 11 * * *", since: backuptest.Noon.Add(-time.Hour), next: backuptest.Noon.Add(23 * time.Hour)},
		"many were missed, and the last is made": {cron: "0 11 * * *", since: backuptest.Noon.Add(-30 * 24 * time.Hour), due: backuptest.Noon.Add(-time.Hour), next: backuptest.Noon.Add(23 * time.Hour)},
		"one was missed long ago":                {cron: "0 0 1 * *", since: backuptest.Noon.Add(-40 * 24 * time.Hour), due: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), next: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		"its last is under way":                  {cron: "0 11 * * *", since: backuptest.Noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{byPlan("a", 1, false)}, next: backuptest.Noon.Add(23 * time.Hour)},
		"its last has finished":                  {cron: "0 11 * * *", since: backuptest.Noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{byPlan("a", 1, true)}, due: backuptest.Noon.Add(-time.Hour), next: backuptest.Noon.Add(23 * time.Hour)},
		"a person's is under way":                {cron: "0 11 * * *", since: backuptest.Noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{backuptest.Drilled("mine", "", 1)}, due: backuptest.Noon.Add(-time.Hour), next: backuptest.Noon.Add(23 * time.Hour)},
		"it cannot be read":                      {cron: "whenever", since: backuptest.Noon.Add(-2 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPlan(row.cron, row.since)
			s.Drills = row.drills
			p := Plan(s)
			if len(p.Due) > 0 != !row.due.IsZero() || !p.WakeAt.Equal(row.next) {
				t.Fatalf("due are %v, next at %s", p.Due, p.WakeAt)
			}
			if row.next.IsZero() {
				return
			}
			told := p.Told[0]
			want := row.since
			switch {
			case !row.due.IsZero():
				want = row.due
			case row.since.IsZero():
				want = backuptest.Noon
			}
			if !told.ScheduledAt.Time.Equal(want) || !told.Next.Time.Equal(row.next) || (told.DrillName != "") != (len(p.Due) > 0) {
				t.Errorf("told is %+v, want a start at %s", told, want)
			}
		})
	}
}

// A manager that dies after it made a drill, and before that is on record, makes the same one again.
func TestADrillIsMadeOncePerStart(t *testing.T) {
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	first, again := Plan(s).Due[0], Plan(s).Due[0]
	s.Now = backuptest.Noon.Add(24 * time.Hour)
	later := Plan(s).Due[0]
	if first.Name != again.Name || first.Name == later.Name || len(first.Name) > maxDrillName || !strings.HasPrefix(first.Name, "weekly-prod-eu-") {
		t.Errorf("names are %s, %s, %s", first.Name, again.Name, later.Name)
	}
	if first.Spec.PolicyName != "nightly" || first.Spec.ClusterRef.Name != "prod.eu" || first.Spec.Target.Mode != backupv1alpha1.DrillNamespaceMapped {
		t.Errorf("got %+v", first.Spec)
	}
}

func TestDrillsOfClustersAreSpread(t *testing.T) {
	starts := map[time.Time]bool{}
	for i := range 200 {
		s := withPlan("0 6 * * *", backuptest.Noon.Add(-24*time.Hour))
		s.Enrollment.UID = types.UID(fmt.Sprint(i))
		s.Enrollment.Spec.Drills[0].Schedule.Spread = &metav1.Duration{Duration: 2 * time.Hour}
		p := Plan(s)
		start := p.Told[0].ScheduledAt.Time
		if len(p.Due) != 1 || start.Before(backuptest.Noon.Add(-6*time.Hour)) || !start.Before(backuptest.Noon.Add(-4*time.Hour)) {
			t.Fatalf("enrollment %d starts at %s", i, start)
		}
		starts[start] = true
	}
	if len(starts) < 80 {
		t.Errorf("200 clusters start at %d times within 2 hours", len(starts))
	}
}

func TestDrillsBeyondTheHistoryLimitAreDeletedWithTheNext(t *testing.T) {
	drills := []backupv1alpha1.DRDrill{byPlan("a", 50, true), byPlan("b", 26, true), byPlan("c", 74, true), backuptest.Drilled("mine", backupv1alpha1.DrillPassed, 90)}
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	s.Drills = drills
	p := Plan(s)
	if got := strings.Join(p.Expired, " "); got != "a c" {
		t.Errorf("deleted are %q: with the new one, two are to stay", got)
	}
	s = withPlan("0 11 * * *", backuptest.Noon.Add(-time.Hour))
	s.Drills = drills
	if p := Plan(s); len(p.Expired) > 0 {
		t.Errorf("deleted without a new one: %v", p.Expired)
	}
}

// Ten clusters of a hundred are rehearsed by each start, and each of them once in ten.
func TestClustersTakeTurns(t *testing.T) {
	turns := map[types.UID]int{}
	for i := range 100 {
		s := withPlan("0 6 * * *", time.Time{})
		s.Enrollment.UID = types.UID(fmt.Sprint(i))
		s.Enrollment.Spec.Drills[0].Share = ptr.To[int32](10)
		for day := range 10 {
			s.Now = backuptest.Noon.Add(time.Duration(day) * 24 * time.Hour)
			p := Plan(s)
			if s.Recorded = p.Told; len(p.Due) == 0 {
				continue
			}
			if _, twice := turns[s.Enrollment.UID]; twice {
				t.Fatalf("cluster %d is rehearsed twice in ten starts", i)
			}
			turns[s.Enrollment.UID] = day
		}
	}
	perDay := map[int]int{}
	for _, day := range turns {
		perDay[day]++
	}
	if len(turns) < 85 || len(perDay) < 9 { // The day on which a plan is seen first has no start.
		t.Errorf("%d of 100 clusters were rehearsed, by days %v", len(turns), perDay)
	}
}

func TestTheNextStartThatIsToldIsTheTurnOfTheCluster(t *testing.T) {
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	s.Enrollment.Spec.Drills[0].Share = ptr.To[int32](25)
	p := Plan(s)
	if told := p.Told[0]; len(p.Due) > 0 || told.Rested != 1 || !told.Next.Time.Equal(backuptest.Noon.Add(71*time.Hour)) || !p.WakeAt.Equal(backuptest.Noon.Add(23*time.Hour)) {
		t.Errorf("due %v, told %+v, next %s, wakes at %s", p.Due, told, told.Next, p.WakeAt)
	}
}

func TestADrillWaitsForAWindow(t *testing.T) {
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	s.Enrollment.Spec.Drills[0].Windows = []metav1alpha1.RecurringWindow{{Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: 2 * time.Hour}}}
	p := Plan(s)
	if len(p.Due) > 0 || !p.WakeAt.Equal(backuptest.Noon.Add(10*time.Hour)) || !p.Told[0].ScheduledAt.Time.Equal(backuptest.Noon.Add(-2*time.Hour)) {
		t.Errorf("due %v, wakes at %s, told %+v", p.Due, p.WakeAt, p.Told[0])
	}
	s.Now = backuptest.Noon.Add(10 * time.Hour)
	if p := Plan(s); len(p.Due) != 1 || !p.Told[0].ScheduledAt.Time.Equal(backuptest.Noon.Add(-time.Hour)) || !p.Due[0].Spec.StartBy.Time.Equal(backuptest.Noon.Add(12*time.Hour)) {
		t.Errorf("as it opens: due %v, told %+v", p.Due, p.Told[0])
	}
}
