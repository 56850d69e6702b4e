package backupenrollment

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
func withPlan(cron string, since time.Time) situation {
	s := situation{enrollment: &backupv1alpha1.BackupEnrollment{}, now: backuptest.Noon}
	s.enrollment.Namespace, s.enrollment.UID = "acme", "enrollment"
	s.enrollment.Labels = map[string]string{metav1alpha1.LabelPolicy: "nightly"}
	s.enrollment.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod.eu"}
	s.enrollment.Spec.Drills = []backupv1alpha1.DrillPlan{{
		Name: "weekly", Schedule: backupv1alpha1.Recurrence{Cron: cron, Spread: &metav1.Duration{}}, HistoryLimit: ptr.To[int32](2),
		DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
	}}
	if !since.IsZero() {
		s.recorded = []backupv1alpha1.DrillPlanStatus{{Name: "weekly", ScheduledAt: metav1.NewTime(since)}}
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
			s.drills = row.drills
			p := planDrills(s)
			if len(p.due) > 0 != !row.due.IsZero() || !p.wakeAt.Equal(row.next) {
				t.Fatalf("due are %v, next at %s", p.due, p.wakeAt)
			}
			if row.next.IsZero() {
				return
			}
			told := p.told[0]
			want := row.since
			switch {
			case !row.due.IsZero():
				want = row.due
			case row.since.IsZero():
				want = backuptest.Noon
			}
			if !told.ScheduledAt.Time.Equal(want) || !told.Next.Time.Equal(row.next) || (told.DrillName != "") != (len(p.due) > 0) {
				t.Errorf("told is %+v, want a start at %s", told, want)
			}
		})
	}
}

// A manager that dies after it made a drill, and before that is on record, makes the same one again.
func TestADrillIsMadeOncePerStart(t *testing.T) {
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	first, again := planDrills(s).due[0], planDrills(s).due[0]
	s.now = backuptest.Noon.Add(24 * time.Hour)
	later := planDrills(s).due[0]
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
		s.enrollment.UID = types.UID(fmt.Sprint(i))
		s.enrollment.Spec.Drills[0].Schedule.Spread = &metav1.Duration{Duration: 2 * time.Hour}
		p := planDrills(s)
		start := p.told[0].ScheduledAt.Time
		if len(p.due) != 1 || start.Before(backuptest.Noon.Add(-6*time.Hour)) || !start.Before(backuptest.Noon.Add(-4*time.Hour)) {
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
	s.drills = drills
	p := planDrills(s)
	if got := strings.Join(p.expired, " "); got != "a c" {
		t.Errorf("deleted are %q: with the new one, two are to stay", got)
	}
	s = withPlan("0 11 * * *", backuptest.Noon.Add(-time.Hour))
	s.drills = drills
	if p := planDrills(s); len(p.expired) > 0 {
		t.Errorf("deleted without a new one: %v", p.expired)
	}
}

// Ten clusters of a hundred are rehearsed by each start, and each of them once in ten.
func TestClustersTakeTurns(t *testing.T) {
	turns := map[types.UID]int{}
	for i := range 100 {
		s := withPlan("0 6 * * *", time.Time{})
		s.enrollment.UID = types.UID(fmt.Sprint(i))
		s.enrollment.Spec.Drills[0].Share = ptr.To[int32](10)
		for day := range 10 {
			s.now = backuptest.Noon.Add(time.Duration(day) * 24 * time.Hour)
			p := planDrills(s)
			if s.recorded = p.told; len(p.due) == 0 {
				continue
			}
			if _, twice := turns[s.enrollment.UID]; twice {
				t.Fatalf("cluster %d is rehearsed twice in ten starts", i)
			}
			turns[s.enrollment.UID] = day
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
	s.enrollment.Spec.Drills[0].Share = ptr.To[int32](25)
	p := planDrills(s)
	if told := p.told[0]; len(p.due) > 0 || told.Rested != 1 || !told.Next.Time.Equal(backuptest.Noon.Add(71*time.Hour)) || !p.wakeAt.Equal(backuptest.Noon.Add(23*time.Hour)) {
		t.Errorf("due %v, told %+v, next %s, wakes at %s", p.due, told, told.Next, p.wakeAt)
	}
}

func TestADrillWaitsForAWindow(t *testing.T) {
	s := withPlan("0 11 * * *", backuptest.Noon.Add(-2*time.Hour))
	s.enrollment.Spec.Drills[0].Windows = []metav1alpha1.RecurringWindow{{Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: 2 * time.Hour}}}
	p := planDrills(s)
	if len(p.due) > 0 || !p.wakeAt.Equal(backuptest.Noon.Add(10*time.Hour)) || !p.told[0].ScheduledAt.Time.Equal(backuptest.Noon.Add(-2*time.Hour)) {
		t.Errorf("due %v, wakes at %s, told %+v", p.due, p.wakeAt, p.told[0])
	}
	s.now = backuptest.Noon.Add(10 * time.Hour)
	if p := planDrills(s); len(p.due) != 1 || !p.told[0].ScheduledAt.Time.Equal(backuptest.Noon.Add(-time.Hour)) || !p.due[0].Spec.StartBy.Time.Equal(backuptest.Noon.Add(12*time.Hour)) {
		t.Errorf("as it opens: due %v, told %+v", p.due, p.told[0])
	}
}
