package reload

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// suite is what one test works with: a namespace of its own.
type suite struct {
	*testing.T
	namespace string
}

func newSuite(t *testing.T, namespace string) *suite {
	t.Helper()
	s := &suite{T: t, namespace: namespace}
	s.must(shared.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	return s
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// secret is a delivered Secret of which the workloads are to load a content.
func (s *suite) secret(hash string) Object {
	return Object{Kind: "Secret", Namespace: s.namespace, Name: "web-tls", Hash: hash}
}

// template of pods that mount the Secret.
func template(name string) (metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"app": name}
	return metav1.ObjectMeta{Name: name}, &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}},
			Volumes:    []corev1.Volume{{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "web-tls"}}}},
		},
	}
}

func (s *suite) deployment(name string) *appsv1.Deployment {
	s.Helper()
	meta, selector, pods := template(name)
	meta.Namespace = s.namespace
	object := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2)), Selector: selector, Template: pods}}
	s.must(shared.Admin.Create(s.Context(), object))
	return object
}

// run makes one pass, in the place of the one that came before.
func (s *suite) run(before Result, may bool, objects ...Object) Result {
	s.Helper()
	return Pass{Cluster: shared.Cluster(s.T), Objects: objects, May: func() bool { return may }, Before: before}.Run(s.Context())
}

func (s *suite) read(object client.Object) {
	s.Helper()
	s.must(shared.Admin.Get(s.Context(), client.ObjectKeyFromObject(object), object))
}

// rollOut tells of a rollout as the controllers of Kubernetes do, of which none run here.
func (s *suite) rollOut(object *appsv1.Deployment) {
	s.Helper()
	s.read(object)
	object.Status = appsv1.DeploymentStatus{ObservedGeneration: object.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	s.must(shared.Admin.Status().Update(s.Context(), object))
}

func (s *suite) expectHash(object *appsv1.Deployment, hash string) {
	s.Helper()
	s.read(object)
	if got := object.Spec.Template.Annotations[managedfields.ReloadAnnotation(s.secret("").id())]; got != hash {
		s.Errorf("%s is annotated with %q, not %q", object.Name, got, hash)
	}
}

func TestUsersAreRestartedOnceForEachContent(t *testing.T) {
	s := newSuite(t, "once")
	web := s.deployment("web")
	meta, selector, pods := template("store")
	meta.Namespace = s.namespace
	s.must(shared.Admin.Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(0)), Selector: selector, Template: pods}}))
	meta, selector, pods = template("agent")
	meta.Namespace = s.namespace
	s.must(shared.Admin.Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pods}}))
	other := s.deployment("other")
	other.Spec.Template.Spec.Volumes = nil
	s.must(shared.Admin.Update(t.Context(), other))

	first := s.run(Result{}, true, s.secret("aaaa"))
	if first.IsComplete() || first.Waiting.Count != 3 || first.Refused.Count+first.Held.Count != 0 {
		t.Fatalf("after three workloads were annotated: %+v", first)
	}
	s.expectHash(web, "aaaa")
	s.expectHash(other, "")
	if owned := s.ownedBy(web); !strings.Contains(owned, managedfields.ReloadAnnotation("")) || strings.Count(owned, "f:") != 5 {
		t.Errorf("it owns %s", owned)
	}
	again := s.run(first, true, s.secret("aaaa"))
	before := web.ResourceVersion
	if s.read(web); web.ResourceVersion != before || again.Waiting.Count != 3 {
		t.Errorf("another pass writes, and tells %+v", again)
	}
	s.rollOut(web)
	if next := s.run(again, true, s.secret("aaaa")); next.Waiting.Count != 2 || strings.Contains(fmt.Sprint(next), "Deployment") {
		t.Errorf("of a rollout that is complete: %+v", next)
	}
	// A manager that starts anew knows nothing, and restarts nothing.
	if next := s.run(Result{}, true, s.secret("aaaa")); next.Waiting.Count != 2 {
		t.Errorf("a new manager says %+v", next)
	}
	s.run(Result{}, true, s.secret("bbbb"))
	s.expectHash(web, "bbbb")
}

// ownedBy are the fields of the annotation's field manager.
func (s *suite) ownedBy(object client.Object) string {
	for _, entry := range object.GetManagedFields() {
		if strings.Contains(entry.Manager, "-reload-") {
			return entry.FieldsV1.GetRawString()
		}
	}
	return ""
}

func TestNothingIsRestartedOutsideOfAWindow(t *testing.T) {
	s := newSuite(t, "held")
	web := s.deployment("web")
	held := s.run(Result{}, false, s.secret("aaaa"))
	if !held.IsHeld() || held.IsComplete() || held.Held.First[0] != "Deployment held/web" {
		t.Errorf("got %+v", held)
	}
	s.expectHash(web, "")
	if s.run(held, true, s.secret("aaaa")).IsHeld() {
		t.Error("it waits on")
	}
	s.expectHash(web, "aaaa")
}

func TestANamespaceWithoutUsersIsComplete(t *testing.T) {
	s := newSuite(t, "unused")
	if got := s.run(Result{}, false, s.secret("aaaa")); !got.IsComplete() {
		t.Errorf("got %+v", got)
	}
	if (Result{}).IsComplete() {
		t.Error("where nobody looked, nothing is known")
	}
}

func TestAnAnnotationThatSomebodyElseSetsIsLeft(t *testing.T) {
	s := newSuite(t, "taken")
	web := s.deployment("web")
	web.Spec.Template.Annotations = map[string]string{managedfields.ReloadAnnotation(s.secret("").id()): "theirs"}
	s.must(shared.Admin.Update(t.Context(), web, client.FieldOwner("gitops")))
	got := s.run(Result{}, true, s.secret("aaaa"))
	if got.Refused.Count != 1 || !strings.Contains(got.Refused.First[0], "Deployment taken/web") || !strings.Contains(got.Refused.First[0], "gitops") {
		t.Errorf("got %+v", got)
	}
	s.expectHash(web, "theirs")
}

func TestAnAnnotationThatIsTakenAwayIsNotFoughtOver(t *testing.T) {
	s := newSuite(t, "contested")
	web := s.deployment("web")
	var last Result
	for range maxRestarts + 2 {
		last = s.run(last, true, s.secret("aaaa"))
		s.read(web)
		web.Spec.Template.Annotations = nil
		s.must(shared.Admin.Update(t.Context(), web, client.FieldOwner("operator")))
	}
	if last.Refused.Count != 1 || !strings.Contains(last.Refused.First[0], "annotated 3 times") {
		t.Errorf("got %+v", last)
	}
}

func TestARefusalNamesTheWorkloadAndHoldsUpNoOther(t *testing.T) {
	s, other := newSuite(t, "refused"), newSuite(t, "refused-not")
	s.deployment("web")
	web := other.deployment("web")
	s.refuse()
	var got Result
	expect.Eventually(t, "it is refused", func(context.Context) error {
		if got = s.run(Result{}, true, s.secret("aaaa"), other.secret("aaaa")); got.Refused.Count != 1 {
			return fmt.Errorf("got %+v", got)
		}
		return nil
	})
	if text := got.Refused.First[0]; !strings.Contains(text, "Deployment refused/web") || !strings.Contains(text, "verbs list and patch") {
		t.Errorf("it says %q", text)
	}
	other.expectHash(web, "aaaa")
}

// refuse has the API server forbid changes in the namespace.
func (s *suite) refuse() {
	s.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "frozen", Reason: ptr.To(metav1.StatusReasonForbidden)}},
		},
	}
	s.must(shared.Admin.Create(s.Context(), policy))
	s.must(shared.Admin.Create(s.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}))
	expect.Eventually(s, "changes are forbidden", func(ctx context.Context) error {
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}
		err := shared.Admin.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	})
}

func TestMoreWorkloadsThanAreReadAreTold(t *testing.T) {
	s, other := newSuite(t, "many"), newSuite(t, "many-not")
	for i := range maxOfKind + 1 {
		meta, selector, pods := template(fmt.Sprintf("web-%d", i))
		meta.Namespace, pods.Spec.Volumes = s.namespace, nil
		s.must(shared.Admin.Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: pods}}))
	}
	web := other.deployment("web")
	got := s.run(Result{}, true, s.secret("aaaa"), other.secret("aaaa"))
	if got.Refused.Count != 1 || !strings.Contains(got.Refused.First[0], "Deployments of namespace many") || !strings.Contains(got.Refused.First[0], "more than 500") {
		t.Errorf("got %+v", got)
	}
	other.expectHash(web, "aaaa")
}

func TestAPassThatEndsEarlyIsGoneOnWith(t *testing.T) {
	s, other := newSuite(t, "early-a"), newSuite(t, "early-b")
	ended, end := context.WithCancel(t.Context())
	end()
	pass := Pass{Cluster: shared.Cluster(t), Objects: []Object{s.secret("aaaa"), other.secret("aaaa")}, May: func() bool { return true }}
	got := pass.Run(ended)
	if !got.Unseen || got.IsComplete() || got.IsHeld() {
		t.Errorf("of a pass that looked nowhere: %+v", got)
	}
	if names := from([]string{"a", "c", "e"}, "b"); strings.Join(names, "") != "cea" {
		t.Errorf("it goes on with %v", names)
	}
	if names := from([]string{"a", "c", "e"}, "f"); strings.Join(names, "") != "ace" {
		t.Errorf("it goes on with %v", names)
	}
	pass.Before = got
	if got = pass.Run(t.Context()); !got.IsComplete() {
		t.Errorf("then %+v", got)
	}
}
