package drdrill

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// restoredShop is a drill that has restored namespace shop, and asks for jobs in it and in another one.
func restoredShop() *backupv1alpha1.DRDrill {
	drill := rehearsal(backupv1alpha1.DrillNamespaceMapped, 7)
	timeout := &metav1.Duration{Duration: time.Minute}
	drill.Spec.Verify.Jobs = []backupv1alpha1.DrillJob{
		{Name: "elsewhere", Namespace: "billing", Image: "query", Timeout: timeout}, {Name: "query", Namespace: "shop", Image: "query", Timeout: timeout},
	}
	return drill
}

func TestAJobIsTriedOnceAndEndsInTime(t *testing.T) {
	object, err := new(Reconciler).Object(t.Context(), view{Run: restoredShop()}, "job-1")
	if err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &job); err != nil {
		t.Fatal(err)
	}
	if job.Namespace != "shop-drill" || *job.Spec.BackoffLimit != 0 || *job.Spec.ActiveDeadlineSeconds != 60 || job.Spec.Template.Spec.RestartPolicy != "Never" {
		t.Errorf("got %+v in %s", job.Spec, job.Namespace)
	}
	if _, err := new(Reconciler).Object(t.Context(), view{Run: restoredShop()}, "job-0"); err == nil {
		t.Error("a job is made in a namespace that is not restored")
	}
}

func TestAJobReachesThePodsBesideItAndNothingElse(t *testing.T) {
	drill := restoredShop()
	for namespace, want := range map[string][2]int{"shop": {1, 2}, "other": {0, 0}} {
		var spec networkingv1.NetworkPolicySpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(networkRules(drill, namespace), &spec); err != nil {
			t.Fatal(err)
		}
		if len(spec.PolicyTypes) != 2 || len(spec.Ingress) != want[0] || len(spec.Egress) != want[1] {
			t.Fatalf("%s: %+v", namespace, spec)
		}
		for _, rule := range spec.Egress {
			for _, peer := range rule.To {
				if peer.IPBlock != nil || peer.NamespaceSelector != nil && (len(peer.NamespaceSelector.MatchLabels) == 0 || len(rule.Ports) == 0) {
					t.Errorf("%s is open to %+v", namespace, peer)
				}
			}
		}
	}
}

func TestWhatJobsCameTo(t *testing.T) {
	record := func(uid string, outcome metav1alpha1.ActionOutcome, message string) []metav1alpha1.Action {
		one := metav1alpha1.Action{Name: "job-1", Outcome: outcome, Message: message}
		one.UID = "made"
		if uid == "" {
			one.UID = ""
		}
		return []metav1alpha1.Action{one}
	}
	for name, test := range map[string]struct {
		actions []metav1alpha1.Action
		result  backupv1alpha1.CheckResult
		word    string
	}{
		"succeeded":       {record("made", metav1alpha1.ActionSucceeded, ""), backupv1alpha1.CheckPassed, "succeeded"},
		"failed":          {record("made", metav1alpha1.ActionFailed, "BackoffLimitExceeded"), backupv1alpha1.CheckFailed, "BackoffLimitExceeded"},
		"never ended":     {record("made", metav1alpha1.ActionTimedOut, "no answer"), backupv1alpha1.CheckFailed, "TimedOut"},
		"was not made":    {record("", metav1alpha1.ActionTimedOut, "no answer"), backupv1alpha1.CheckNotChecked, "did not run"},
		"did not begin":   {nil, backupv1alpha1.CheckNotChecked, "too early"},
		"ended before it": {record("made", metav1alpha1.ActionCancelled, "spec.cancel"), backupv1alpha1.CheckNotChecked, "did not run"},
	} {
		drill := restoredShop()
		drill.Status.Actions = test.actions
		checks := jobChecks(drill, "too early")
		if len(checks) != 2 || checks[0].Result != backupv1alpha1.CheckNotChecked || !strings.Contains(checks[0].Message, "billing is not restored") {
			t.Errorf("%s: %+v", name, checks)
		}
		if got := checks[1]; got.Name != "Job/query" || got.Result != test.result || !strings.Contains(got.Message, test.word) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestADrillPassesOnlyIfWhatItAsksForItselfWasChecked(t *testing.T) {
	drill := restoredShop()
	drill.Spec.Verify.Jobs = drill.Spec.Verify.Jobs[1:]
	drill.Spec.Verify.Assertions = []backupv1alpha1.DrillAssertion{{Name: "three", APIVersion: "v1", Kind: "Pod", Expression: "true"}}
	late := noon.Add(time.Hour)
	concluded := concluded(t, drill, late)
	if concluded.Status.Verdict == backupv1alpha1.DrillPassed {
		t.Errorf("it passes with %+v", concluded.Status.Checks)
	}
	found := map[string]backupv1alpha1.CheckResult{}
	for _, one := range concluded.Status.Checks {
		found[one.Name] = one.Result
	}
	if found["Assertion/three"] != backupv1alpha1.CheckNotChecked || found["Job/query"] != backupv1alpha1.CheckNotChecked {
		t.Errorf("got %v", found)
	}
}
