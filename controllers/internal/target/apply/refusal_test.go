package apply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func TestAForbiddenWriteIsTriedAgainLessAndLessOften(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "c", nil)
	goes := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}},
	}}}
	c := objects.Ref{Name: "c"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "c", nil)
	tests := map[string]struct {
		err     error
		tries   int
		changed bool
		want    time.Duration
	}{
		"first":                        {err: forbidden, want: 10 * time.Second},
		"third":                        {err: forbidden, tries: 2, want: 40 * time.Second},
		"hundredth":                    {err: forbidden, tries: 99, want: 5 * time.Minute},
		"first of what it is now":      {err: forbidden, tries: 99, changed: true, want: 10 * time.Second},
		"what is not valid":            {err: invalid, want: 5 * time.Minute},
		"in a namespace that is going": {err: goes, tries: 99, want: 30 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := Written{Write: Write{Object: declared(c, "1")}, Err: test.err}
			o := Observation{Now: noon, Refused: map[objects.Key]Refusal{c.Key(): {Hash: "1", tries: test.tries}}}
			if test.changed {
				w.Hash = "2"
			}
			got := o.refusals(Plan{}, []Written{w})[c.Key()]
			if wait := got.Until.Sub(noon); wait != test.want {
				t.Errorf("it is tried again after %s, not %s", wait, test.want)
			}
			w.Hash = got.Hash
			if !got.stands(w.Write, Observation{Now: got.Until.Add(-time.Millisecond)}, "") || got.stands(w.Write, Observation{Now: got.Until}, "") {
				t.Error("it is not sent again exactly then")
			}
		})
	}
}

func TestOnlyWhatCannotPassIsRefused(t *testing.T) {
	c := objects.Ref{Name: "c"}
	passing := apierrors.NewTooManyRequests("later", 1)
	if refused := (Observation{Now: noon}).refusals(Plan{}, []Written{{Write: Write{Object: declared(c, "1")}, Err: passing}}); len(refused) != 0 {
		t.Errorf("%v", refused)
	}
}
