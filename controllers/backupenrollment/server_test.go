package backupenrollment

import (
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroversion"
)

func TestAnOldVeleroIsTold(t *testing.T) {
	for answer, want := range map[string]struct {
		version string
		tooOld  bool
	}{
		"v1.18.3":                           {"v1.18.3", false},
		"v1.18.0":                           {"v1.18.0", true},
		"v1.18.1":                           {"v1.18.1", false},
		"v1.17.2":                           {"v1.17.2", true},
		"v1.9.0":                            {"v1.9.0", true},
		"v2.0.0":                            {"v2.0.0", false},
		"main":                              {"", false},
		"":                                  {"", false},
		"v1.2.3-" + strings.Repeat("x", 99): {"", false},
	} {
		told := veleroversion.Answered(answer, backuptest.Noon)
		f := server{told: told}.finding()
		if told.Version != want.version || f.isProblem() != want.tooOld {
			t.Errorf("%q: version %q, %+v", answer, told.Version, f)
		}
		if want.tooOld && (!f.stalled || !strings.Contains(f.message, want.version) || !strings.Contains(f.message, veleroversion.Oldest)) {
			t.Errorf("%q: %s", answer, f.message)
		}
	}
	if f := (server{}).finding(); f.isProblem() {
		t.Errorf("nobody was asked yet, and %+v", f)
	}
}
