package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestOnlyAClearNoIsARefusal(t *testing.T) {
	kind, path := schema.GroupKind{Kind: "Cluster"}, field.NewPath("spec", "topology")
	clusters := schema.GroupResource{Group: "cluster.x-k8s.io", Resource: "clusters"}
	unknown, missing := field.Invalid(path.Child("variables"), "x", "unknown"), field.InternalError(path.Child("class"), errors.New("not found"))
	name := field.Invalid(field.NewPath("metadata", "name"), "prod", "too long")
	for what, test := range map[string]struct {
		err            error
		refused        bool
		refusesAnother bool
	}{
		"a bad field":                        {apierrors.NewInvalid(kind, "prod", field.ErrorList{unknown}), true, true},
		"a bad field beside a missing class": {apierrors.NewInvalid(kind, "prod", field.ErrorList{unknown, missing}), true, true},
		"a missing class":                    {apierrors.NewInvalid(kind, "prod", field.ErrorList{missing}), false, false},
		"a bad name":                         {apierrors.NewInvalid(kind, "prod", field.ErrorList{name}), true, false},
		"a bad name beside a missing class":  {apierrors.NewInvalid(kind, "prod", field.ErrorList{name, missing}), true, false},
		"a webhook that forbids it": {
			apierrors.NewForbidden(clusters, "prod", errors.New(`admission webhook "x" denied the request: it is forbidden: User "y"`)), true, false,
		},
		"a bad request":                  {apierrors.NewBadRequest("no version"), true, false},
		"a webhook that cannot rehearse": {apierrors.NewBadRequest(`admission webhook "x" does not support dry run`), false, false},
		"Cluster API does not answer":    {apierrors.NewInternalError(errors.New("failed calling webhook")), false, false},
		"it takes too long":              {context.DeadlineExceeded, false, false},
		"somebody else was faster":       {apierrors.NewAlreadyExists(clusters, "prod"), false, false},
	} {
		t.Run(what, func(t *testing.T) {
			refusal, undecided := answer(test.err, "prod")
			if (refusal != "") != test.refused || (undecided == nil) != test.refused {
				t.Errorf("answer() = %q, %v", refusal, undecided)
			}
			refusal, undecided = answerForAnother(test.err, "prod")
			if (refusal != "") != test.refusesAnother || (undecided == nil) != test.refusesAnother {
				t.Errorf("answerForAnother() = %q, %v", refusal, undecided)
			}
		})
	}
	for _, of := range []func(error, string) (string, error){answer, answerForAnother} {
		if refusal, undecided := of(nil, "prod"); refusal != "" || undecided != nil {
			t.Errorf("the answer to a yes is %q, %v", refusal, undecided)
		}
	}
}

// awaitRefusal makes dry runs of a ConfigMap until an API server that has just been told to forbid it does: for the reason.
func awaitRefusal(t *testing.T, writer client.Client, namespace, reason string) error {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "prod-"}}
	var no error
	expect.Eventually(t, fmt.Sprintf("the reason is %q", reason), func(ctx context.Context) error {
		no = writer.Create(ctx, object.DeepCopy(), client.DryRunAll)
		if no == nil || !strings.Contains(no.Error(), reason) {
			return fmt.Errorf("the answer is: %w", no)
		}
		return nil
	})
	return no
}

// The words of an API server are all that tells its reasons apart.
func TestAMissingRightOfTheManagersIsNoRefusal(t *testing.T) {
	config := rest.CopyConfig(served.GetConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + providerNamespace + ":daytwo-controller-manager"}
	manager, err := client.New(config, client.Options{Scheme: apis.NewScheme()})
	must(t, err)
	no := awaitRefusal(t, manager, newNamespace(t), "cannot create resource")
	if !apierrors.IsForbidden(no) {
		t.Fatalf("it is not forbidden: %v", no)
	}
	if refusal, undecided := answer(no, "prod"); refusal != "" || undecided == nil {
		t.Errorf("answer() = %q, %v", refusal, undecided)
	}
	if refusal, undecided := answerForAnother(no, "prod"); refusal != "" || undecided == nil {
		t.Errorf("answerForAnother() = %q, %v", refusal, undecided)
	}
}

func TestAQuotaRefusesAnOrderAndNoUpgrade(t *testing.T) {
	namespace := newNamespace(t)
	none := corev1.ResourceList{"count/configmaps": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	must(t, admin.Create(t.Context(), quota))
	counted := client.MergeFrom(quota.DeepCopy()) // a quota controller may have counted already
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	must(t, admin.Status().Patch(t.Context(), quota, counted))
	no := awaitRefusal(t, admin, namespace, "exceeded quota")
	if refusal, undecided := answer(no, "prod"); !strings.Contains(refusal, "exceeded quota: none") || undecided != nil {
		t.Errorf("answer() = %q, %v", refusal, undecided)
	}
	if refusal, undecided := answerForAnother(no, "prod"); refusal != "" || undecided != nil {
		t.Errorf("answerForAnother() = %q, %v", refusal, undecided)
	}
}

func TestAPolicyRefusesAnOrderAndNoUpgrade(t *testing.T) {
	for name, reason := range map[string]*metav1.StatusReason{"by-default": nil, "forbidding": new(metav1.StatusReasonForbidden)} {
		t.Run(name, func(t *testing.T) {
			namespace := newNamespace(t)
			policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
			policy.Spec.MatchConstraints = &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			}
			policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "no such name", Reason: reason}}
			must(t, admin.Create(t.Context(), policy))
			binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
			binding.Spec.PolicyName, binding.Spec.ValidationActions = name, []admissionv1.ValidationAction{admissionv1.Deny}
			must(t, admin.Create(t.Context(), binding))

			no := awaitRefusal(t, admin, namespace, "no such name")
			if refusal, undecided := answer(no, "prod"); !strings.Contains(refusal, "no such name") || undecided != nil {
				t.Errorf("answer() = %q, %v", refusal, undecided)
			}
			if refusal, undecided := answerForAnother(no, "prod"); refusal != "" || undecided == nil {
				t.Errorf("answerForAnother() = %q, %v", refusal, undecided)
			}
		})
	}
}
