package target

import (
	"fmt"
	"testing"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

func TestAProblemIsToldByWhatHelps(t *testing.T) {
	for reason, problem := range map[string]error{
		metav1alpha1.ReasonSecretsNotReadable: &secretaccess.Error{Namespace: "acme", Listed: true},
		metav1alpha1.ReasonRevisionNotFound:   revision.ErrNotFound,
		"OwnReason":                           &Verdict{Reason: "OwnReason", Message: "own", Stalled: true},
	} {
		verdict := VerdictOfProblem(fmt.Errorf("read: %w", problem))
		if verdict == nil || verdict.Reason != reason || !verdict.Stalled {
			t.Errorf("%v is told as %+v", problem, verdict)
		}
		if err := (Findings{Trouble: verdict}).Failure(); err != nil {
			t.Errorf("%v is tried again with a backoff: %v", problem, err)
		}
	}
	if VerdictOfProblem(nil) != nil {
		t.Error("no problem is one")
	}
}
