package topology

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// ready is a cluster in which an upgrade may begin.
func ready(change func(*Situation)) Situation {
	s := Situation{Now: noon, Wanted: "v1.36.3", Ordered: "v1.35.6", Progress: Progress{Settled: true}, WindowOpen: true}
	change(&s)
	return s
}

func underWay(from, to string) *tenancyv1alpha1.Upgrade {
	return &tenancyv1alpha1.Upgrade{From: from, To: to, StartedAt: metav1.NewTime(noon.Add(-time.Minute))}
}

func TestAnUpgradeIsPutOnRecordBeforeItIsOrdered(t *testing.T) {
	s := ready(func(*Situation) {})
	first := Next(s)
	if first.Begin == nil || first.Begin.From != "v1.35.6" || first.Begin.To != "v1.36.3" || first.Version != "v1.35.6" {
		t.Fatalf("the first step is %+v", first)
	}
	s.Underway = first.Begin
	second := Next(s)
	if second.Version != "v1.36.3" || second.Begin != nil || second.Finish || second.Upgraded {
		t.Errorf("the second step is %+v", second)
	}
	s.Ordered, s.Progress = second.Version, Progress{Unsettled: "Cluster prod: control plane rolls"}
	third := Next(s)
	if third.Version != "v1.36.3" || third.Finish || !strings.Contains(third.Message, "control plane rolls") {
		t.Errorf("the third step is %+v", third)
	}
	s.Progress = Progress{Settled: true}
	if last := Next(s); !last.Finish || !last.Upgraded || last.Version != "v1.36.3" {
		t.Errorf("the last step is %+v", last)
	}
}

func TestAnUpgradeGoesOnWhenItsGatesCloseAgain(t *testing.T) {
	step := Next(ready(func(s *Situation) {
		s.Ordered, s.Progress = "v1.36.3", Progress{Unsettled: "Cluster prod: workers roll"}
		s.Underway, s.WindowOpen, s.Unready = underWay("v1.35.6", "v1.36.3"), false, []string{"AddonRelease a/b"}
	}))
	if step.Version != "v1.36.3" || step.Finish {
		t.Errorf("the step is %+v", step)
	}
}

func TestAnUpgradeOnRecordIsNotOrderedAfterItsWindow(t *testing.T) {
	step := Next(ready(func(s *Situation) {
		s.Underway, s.WindowOpen, s.NextWindow = underWay("v1.35.6", "v1.36.3"), false, noon.Add(time.Hour)
	}))
	if step.Version != "v1.35.6" || !step.Finish || step.Begin != nil || step.Reason != metav1alpha1.ReasonWindowClosed {
		t.Errorf("the step is %+v", step)
	}
}

func TestGatesHoldAnUpgradeBack(t *testing.T) {
	hour := &metav1.Duration{Duration: time.Hour}
	for name, test := range map[string]struct {
		change func(*Situation)
		reason string
		says   string
	}{
		"the cluster has trouble": {
			func(s *Situation) { s.Progress = Progress{Unsettled: "Cluster prod: no machine"} },
			tenancyv1alpha1.ReasonClusterNotReady, "no machine",
		},
		"the window is closed": {
			func(s *Situation) { s.WindowOpen, s.NextWindow = false, noon.Add(time.Hour) },
			metav1alpha1.ReasonWindowClosed, "2026-03-01T13:00:00Z",
		},
		"no window ever opens": {
			func(s *Situation) { s.WindowOpen = false },
			metav1alpha1.ReasonWindowClosed, "none will be",
		},
		"a target is not ready": {
			func(s *Situation) { s.Unready = []string{"AddonRelease acme/cache-prod"} },
			tenancyv1alpha1.ReasonTargetsNotReady, "acme/cache-prod",
		},
		"there is no backup": {
			func(s *Situation) { s.Policy.RequireBackupWithin = hour },
			tenancyv1alpha1.ReasonBackupRequired, "there is none of this cluster: select it with a BackupPolicy",
		},
		"the backup is too old": {
			func(s *Situation) {
				s.Policy.RequireBackupWithin, s.Backup = hour, Backup{Latest: noon.Add(-2 * time.Hour)}
			},
			tenancyv1alpha1.ReasonBackupRequired, "2026-03-01T10:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := Next(ready(test.change))
			if step.Begin != nil || step.Version != "v1.35.6" || step.Upgraded || step.Refused {
				t.Errorf("the upgrade is not held back: %+v", step)
			}
			if step.Reason == tenancyv1alpha1.ReasonBackupRequired && !step.WakeAt.IsZero() {
				t.Error("it looks for a backup again, though they are watched")
			}
			if step.Reason != test.reason || !strings.Contains(step.Message, test.says) {
				t.Errorf("it says %s: %s", step.Reason, step.Message)
			}
		})
	}
}

func TestGatesThatDoNotApplyLetAnUpgradeBegin(t *testing.T) {
	for name, change := range map[string]func(*Situation){
		"unready targets are ignored": func(s *Situation) {
			s.Unready, s.Policy.IgnoreUnready = []string{"AddonRelease a/b"}, true
		},
		"the backup is fresh": func(s *Situation) {
			s.Policy.RequireBackupWithin, s.Backup = &metav1.Duration{Duration: time.Hour}, Backup{Latest: noon.Add(-time.Hour)}
		},
		"it is a patch version": func(s *Situation) { s.Wanted = "v1.35.7" },
	} {
		if step := Next(ready(change)); step.Begin == nil {
			t.Errorf("%s: %+v", name, step)
		}
	}
}

func TestVersionsThatCannotFollowAreRefused(t *testing.T) {
	for wanted, says := range map[string]string{
		"v1.35.5": "cannot be downgraded",
		"v1.34.9": "cannot be downgraded",
		"v1.37.0": "one minor version at a time",
		"v2.0.0":  "one minor version at a time",
	} {
		step := Next(ready(func(s *Situation) { s.Wanted = wanted }))
		if !step.Refused || step.Version != "v1.35.6" || step.Begin != nil || !strings.Contains(step.Message, says) {
			t.Errorf("%s: %+v", wanted, step)
		}
	}
}

func TestTwoStepsAreNeverTakenAtOnce(t *testing.T) {
	s := ready(func(s *Situation) {
		s.Wanted, s.Ordered, s.Underway = "v1.37.0", "v1.36.3", underWay("v1.35.6", "v1.36.3")
		s.Progress = Progress{Unsettled: "Cluster prod: workers roll"}
	})
	if step := Next(s); step.Version != "v1.36.3" || step.Finish || step.Begin != nil {
		t.Errorf("while the first is under way: %+v", step)
	}
	s.Progress = Progress{Settled: true}
	step := Next(s)
	if step.Version != "v1.36.3" || !step.Finish || step.Begin != nil {
		t.Errorf("when the first is done: %+v", step)
	}
	s.Underway = nil
	if step := Next(s); step.Begin == nil || step.Begin.To != "v1.37.0" {
		t.Errorf("after that: %+v", step)
	}
}

func TestAnUpgradeThatIsTakenBackInTimeDoesNotHappen(t *testing.T) {
	step := Next(ready(func(s *Situation) { s.Wanted, s.Underway = "v1.35.6", underWay("v1.35.6", "v1.36.3") }))
	if !step.Finish || step.Version != "v1.35.6" || !step.Upgraded {
		t.Errorf("the step is %+v", step)
	}
}
