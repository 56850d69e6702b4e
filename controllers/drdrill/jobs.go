package drdrill

import (
	"fmt"
	"iter"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/action"
)

// actionJob is that of a job, with its number.
const actionJob = "job"

// jobsOf a drill are those whose namespaces it restores, by their actions.
func jobsOf(drill *backupv1alpha1.DRDrill) iter.Seq2[string, backupv1alpha1.DrillJob] {
	return func(yield func(string, backupv1alpha1.DrillJob) bool) {
		for i, one := range drill.Spec.Verify.Jobs {
			if len(namespacesOf(drill, one.Namespace)) > 0 && !yield(numbered(actionJob, i), one) {
				return
			}
		}
	}
}

// jobObject is the Job of an action; nil for other actions. It is tried once: what fails first fails on the day too.
func jobObject(drill *backupv1alpha1.DRDrill, action string) (*unstructured.Unstructured, error) {
	for name, job := range jobsOf(drill) {
		if name == action {
			return newJob(job, namespacesOf(drill, job.Namespace)[0])
		}
	}
	return nil, nil
}

func newJob(asked backupv1alpha1.DrillJob, namespace string) (*unstructured.Unstructured, error) {
	spec := batchv1.JobSpec{
		BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To(int64(asked.Timeout.Seconds())),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{metav1alpha1.LabelDrillJob: asked.Name}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: asked.ServiceAccountName,
				Containers: []corev1.Container{{Name: "check", Image: asked.Image, Command: asked.Command}},
			},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, err
	}
	return newObject(jobKind, namespace, "", map[string]any{"spec": content}), nil
}

// decideJob says what became of a Job.
func decideJob(object *unstructured.Unstructured) action.Verdict {
	var job batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &job); err != nil {
		return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: "the cluster shows something else than a Job"}
	}
	for _, condition := range job.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobComplete:
			return action.Verdict{Outcome: metav1alpha1.ActionSucceeded, Message: "succeeded"}
		case condition.Type == batchv1.JobFailed:
			return action.Verdict{Outcome: metav1alpha1.ActionFailed, Message: join(condition.Reason, condition.Message)}
		}
	}
	return action.Verdict{Message: fmt.Sprintf("runs, with %d pods active", job.Status.Active)}
}

// jobChecks tell of the jobs, and of those that did not begin why not.
func jobChecks(drill *backupv1alpha1.DRDrill, whyNot string) (checks []backupv1alpha1.DrillCheck) {
	for i, one := range drill.Spec.Verify.Jobs {
		name, record := backupv1alpha1.CheckJobPrefix+one.Name, drill.Status.Action(numbered(actionJob, i))
		result, message := backupv1alpha1.CheckNotChecked, whyNot
		switch {
		case len(namespacesOf(drill, one.Namespace)) == 0:
			message = "namespace " + one.Namespace + " is not restored by this drill"
		case record == nil:
		case record.Outcome == metav1alpha1.ActionSucceeded:
			result, message = backupv1alpha1.CheckPassed, "it succeeded"
		case record.UID == "" || record.Outcome == metav1alpha1.ActionCancelled:
			message = "it did not run: " + record.Message
		default:
			result, message = backupv1alpha1.CheckFailed, string(record.Outcome)+": "+record.Message
		}
		checks = append(checks, check(name, result, "%s", message))
	}
	return checks
}

// networkRules are what is permitted in a namespace of a rehearsal: nothing, and the jobs of the drill to reach the pods
// beside them, by name.
func networkRules(drill *backupv1alpha1.DRDrill, archived string) map[string]any {
	rules := map[string]any{"podSelector": map[string]any{}, "policyTypes": []any{"Ingress", "Egress"}}
	if !slices.ContainsFunc(drill.Spec.Verify.Jobs, func(one backupv1alpha1.DrillJob) bool { return one.Namespace == archived }) {
		return rules
	}
	jobs := map[string]any{"matchExpressions": []any{map[string]any{"key": metav1alpha1.LabelDrillJob, "operator": "Exists"}}}
	system := map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: metav1.NamespaceSystem}}
	const dns = 53
	rules["ingress"] = []any{map[string]any{"from": []any{map[string]any{"podSelector": jobs}}}}
	rules["egress"] = []any{
		map[string]any{"to": []any{map[string]any{"podSelector": map[string]any{}}}},
		map[string]any{
			"to":    []any{map[string]any{"namespaceSelector": system}},
			"ports": []any{map[string]any{"port": int64(dns), "protocol": "UDP"}, map[string]any{"port": int64(dns), "protocol": "TCP"}},
		},
	}
	return rules
}
