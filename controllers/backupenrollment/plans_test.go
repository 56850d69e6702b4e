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
)

// withPlan is an enrollment with the plan weekly, which was there since a time; since never, if that is zero.
func withPlan(cron string, since time.Time) *observation {
	o := enrolled(nil, 0)
	o.Target.Namespace, o.Target.UID = "acme", "enrollment"
	o.Target.Labels = map[string]string{metav1alpha1.LabelPolicy: "nightly"}
	o.Target.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod.eu"}
	o.Target.Spec.Drills = []backupv1alpha1.DrillPlan{{
		Name: "weekly", Schedule: backupv1alpha1.Recurrence{Cron: cron, Spread: &metav1.Duration{}}, HistoryLimit: ptr.To[int32](2),
		DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
	}}
	if !since.IsZero() {
		o.Status.DrillPlans = []backupv1alpha1.DrillPlanStatus{{Name: "weekly", ScheduledAt: metav1.NewTime(since)}}
	}
	return o
}

func byPlan(name string, hoursAgo int, finished bool) backupv1alpha1.DRDrill {
	drill := drilled(name, backupv1alpha1.DrillPassed, hoursAgo)
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
		"a new plan waits for its first start":   {cron: "0 11 * * *", next: noon.Add(23 * time.Hour)},
		"its start has come":                     {cron: "0 11 * * *", since: noon.Add(-2 * time.Hour), due: noon.Add(-time.Hour), next: noon.Add(23 * time.Hour)},
		"its start is now":                       {cron: "0 12 * * *", since: noon.Add(-2 * time.Hour), due: noon, next: noon.Add(24 * time.Hour)},
		"it was made for this start":             {cron: "0 11 * * *", since: noon.Add(-time.Hour), next: noon.Add(23 * time.Hour)},
		"many were missed, and the last is made": {cron: "0 11 * * *", since: noon.Add(-30 * 24 * time.Hour), due: noon.Add(-time.Hour), next: noon.Add(23 * time.Hour)},
		"one was missed long ago":                {cron: "0 0 1 * *", since: noon.Add(-40 * 24 * time.Hour), due: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), next: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		"its last is under way":                  {cron: "0 11 * * *", since: noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{byPlan("a", 1, false)}, next: noon.Add(23 * time.Hour)},
		"its last has finished":                  {cron: "0 11 * * *", since: noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{byPlan("a", 1, true)}, due: noon.Add(-time.Hour), next: noon.Add(23 * time.Hour)},
		"a person's is under way":                {cron: "0 11 * * *", since: noon.Add(-2 * time.Hour), drills: []backupv1alpha1.DRDrill{drilled("mine", "", 1)}, due: noon.Add(-time.Hour), next: noon.Add(23 * time.Hour)},
		"it cannot be read":                      {cron: "whenever", since: noon.Add(-2 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			p := planDrills(withPlan(row.cron, row.since), row.drills)
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
				want = noon
			}
			if !told.ScheduledAt.Time.Equal(want) || !told.Next.Time.Equal(row.next) || (told.DrillName != "") != (len(p.due) > 0) {
				t.Errorf("told is %+v, want a start at %s", told, want)
			}
		})
	}
}

// A manager that dies after it made a drill, and before that is on record, makes the same one again.
func TestADrillIsMadeOncePerStart(t *testing.T) {
	o := withPlan("0 11 * * *", noon.Add(-2*time.Hour))
	first, again := planDrills(o, nil).due[0], planDrills(o, nil).due[0]
	o.Now = noon.Add(24 * time.Hour)
	later := planDrills(o, nil).due[0]
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
		o := withPlan("0 6 * * *", noon.Add(-24*time.Hour))
		o.Target.UID = types.UID(fmt.Sprint(i))
		o.Target.Spec.Drills[0].Schedule.Spread = &metav1.Duration{Duration: 2 * time.Hour}
		p := planDrills(o, nil)
		start := p.told[0].ScheduledAt.Time
		if len(p.due) != 1 || start.Before(noon.Add(-6*time.Hour)) || !start.Before(noon.Add(-4*time.Hour)) {
			t.Fatalf("enrollment %d starts at %s", i, start)
		}
		starts[start] = true
	}
	if len(starts) < 80 {
		t.Errorf("200 clusters start at %d times within 2 hours", len(starts))
	}
}

func TestDrillsBeyondTheHistoryLimitAreDeletedWithTheNext(t *testing.T) {
	drills := []backupv1alpha1.DRDrill{byPlan("a", 50, true), byPlan("b", 26, true), byPlan("c", 74, true), drilled("mine", backupv1alpha1.DrillPassed, 90)}
	p := planDrills(withPlan("0 11 * * *", noon.Add(-2*time.Hour)), drills)
	if got := strings.Join(p.expired, " "); got != "a c" {
		t.Errorf("deleted are %q: with the new one, two are to stay", got)
	}
	if p := planDrills(withPlan("0 11 * * *", noon.Add(-time.Hour)), drills); len(p.expired) > 0 {
		t.Errorf("deleted without a new one: %v", p.expired)
	}
}

// Ten clusters of a hundred are rehearsed by each start, and each of them once in ten.
func TestClustersTakeTurns(t *testing.T) {
	turns := map[types.UID]int{}
	for i := range 100 {
		o := withPlan("0 6 * * *", time.Time{})
		o.Target.UID = types.UID(fmt.Sprint(i))
		o.Target.Spec.Drills[0].Share = ptr.To[int32](10)
		for day := range 10 {
			o.Now = noon.Add(time.Duration(day) * 24 * time.Hour)
			p := planDrills(o, nil)
			if o.Status.DrillPlans = p.told; len(p.due) == 0 {
				continue
			}
			if _, twice := turns[o.Target.UID]; twice {
				t.Fatalf("cluster %d is rehearsed twice in ten starts", i)
			}
			turns[o.Target.UID] = day
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
	o := withPlan("0 11 * * *", noon.Add(-2*time.Hour))
	o.Target.Spec.Drills[0].Share = ptr.To[int32](25)
	p := planDrills(o, nil)
	if told := p.told[0]; len(p.due) > 0 || told.Rested != 1 || !told.Next.Time.Equal(noon.Add(71*time.Hour)) || !p.wakeAt.Equal(noon.Add(23*time.Hour)) {
		t.Errorf("due %v, told %+v, next %s, wakes at %s", p.due, told, told.Next, p.wakeAt)
	}
}

func TestADrillWaitsForAWindow(t *testing.T) {
	o := withPlan("0 11 * * *", noon.Add(-2*time.Hour))
	o.Target.Spec.Drills[0].Windows = []metav1alpha1.RecurringWindow{{Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: 2 * time.Hour}}}
	p := planDrills(o, nil)
	if len(p.due) > 0 || !p.wakeAt.Equal(noon.Add(10*time.Hour)) || !p.told[0].ScheduledAt.Time.Equal(noon.Add(-2*time.Hour)) {
		t.Errorf("due %v, wakes at %s, told %+v", p.due, p.wakeAt, p.told[0])
	}
	o.Now = noon.Add(10 * time.Hour)
	if p := planDrills(o, nil); len(p.due) != 1 || !p.told[0].ScheduledAt.Time.Equal(noon.Add(-time.Hour)) || !p.due[0].Spec.StartBy.Time.Equal(noon.Add(12*time.Hour)) {
		t.Errorf("as it opens: due %v, told %+v", p.due, p.told[0])
	}
}
