package conditions

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func at(list *[]metav1.Condition, generation int64, seconds int64) List {
	return List{Conditions: list, Generation: generation, Now: time.Unix(seconds, 500).UTC()}
}

func TestTheTransitionTimeChangesWithTheStatusOnly(t *testing.T) {
	var list []metav1.Condition
	at(&list, 1, 10).Set("Connected", metav1.ConditionTrue, "Yes", "it is")
	at(&list, 2, 20).Set("Connected", metav1.ConditionTrue, "Still", "it still is")
	if got := list[0]; got.LastTransitionTime.Unix() != 10 || got.LastTransitionTime.Nanosecond() != 0 || got.ObservedGeneration != 2 || got.Reason != "Still" {
		t.Errorf("got %+v", got)
	}
	at(&list, 2, 30).Set("Connected", metav1.ConditionFalse, "No", "it is not")
	if got := list[0].LastTransitionTime.Unix(); got != 30 {
		t.Errorf("the status changed at 30, not at %d", got)
	}
}

func TestASummaryRemovesWhatItDoesNotName(t *testing.T) {
	var list []metav1.Condition
	l := at(&list, 1, 10)
	l.Summarize(metav1.ConditionFalse, "Working", "work", metav1alpha1.ConditionReconciling)
	if l.Status(metav1alpha1.ConditionReady) != metav1.ConditionFalse || l.Get(metav1alpha1.ConditionReconciling).Message != "work" {
		t.Errorf("got %+v", list)
	}
	l.Summarize(metav1.ConditionFalse, "Broken", "a person has to look", metav1alpha1.ConditionStalled)
	if l.Status(metav1alpha1.ConditionReconciling) != "" || l.Status(metav1alpha1.ConditionStalled) != metav1.ConditionTrue {
		t.Errorf("got %+v", list)
	}
	l.Summarize(metav1.ConditionTrue, "Done", "done")
	if len(list) != 1 {
		t.Errorf("got %+v", list)
	}
}

func TestAMessageIsCutToWhatFits(t *testing.T) {
	var list []metav1.Condition
	at(&list, 1, 10).Set("Connected", metav1.ConditionFalse, "No", strings.Repeat("ü", MaxMessage))
	if got := list[0].Message; len(got) > MaxMessage+len("…") || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-4:])
	}
}

func TestAConditionOfAnotherGenerationIsNotCurrent(t *testing.T) {
	var list []metav1.Condition
	at(&list, 1, 10).Set("Connected", metav1.ConditionTrue, "Yes", "it is")
	if Current(list, 1, "Connected") == nil || Current(list, 2, "Connected") != nil || Current(list, 1, "Ready") != nil {
		t.Errorf("got %+v", list)
	}
}
