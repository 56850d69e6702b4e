package rollout

import "testing"

func TestParseGuard(t *testing.T) {
	if guard, err := ParseGuard("10,50%"); err != nil || guard != (Guard{MaxClusters: 10, MaxPercent: 50}) {
		t.Errorf("%+v, %v", guard, err)
	}
	for _, wrong := range []string{"", "10", "10,50", "10;50%", "0,50%", "-1,50%", "10,101%", "10,-1%", "10,50%,", "a,b%", "10, 50%"} {
		if guard, err := ParseGuard(wrong); err == nil {
			t.Errorf("%q is %+v", wrong, guard)
		}
	}
}

func TestAGuardIsTightenedAndNotLoosened(t *testing.T) {
	most := Guard{MaxClusters: 10, MaxPercent: 50}
	tests := map[string]struct{ guard, want Guard }{
		"tighter":          {Guard{MaxClusters: 3, MaxPercent: 20}, Guard{MaxClusters: 3, MaxPercent: 20}},
		"more clusters":    {Guard{MaxClusters: 100000, MaxPercent: 20}, Guard{MaxClusters: 10, MaxPercent: 20}},
		"no guard at all":  {Guard{MaxClusters: 3, MaxPercent: 100}, Guard{MaxClusters: 3, MaxPercent: 50}},
		"as much as there": {most, most},
	}
	for name, test := range tests {
		if got := test.guard.AtMost(most); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if free := (Guard{MaxClusters: 100, MaxPercent: 100}); free.AtMost(Guard{}) != free {
		t.Error("nothing bounds it")
	}
}
