package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/kubelet"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// server is a TLS server that serves what it loaded last from a Secret.
type server struct {
	address string
	pair    atomic.Pointer[tls.Certificate]
}

func (s *suite) serve() *server {
	s.Helper()
	one := &server{}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair := one.pair.Load(); pair != nil {
			return pair, nil
		}
		return nil, errors.New("nothing is loaded")
	}})
	must(s, err)
	s.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				_ = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}(conn)
		}
	}()
	one.address = listener.Addr().String()
	return one
}

// load has the server read the Secret again.
func (s *suite) load(one *server, cluster string) {
	s.Helper()
	secret := s.awaitSecret(cluster, "ingress", anySecret)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	must(s, err)
	one.pair.Store(&pair)
}

func TestReloadIsCompleteOnceTheServerServesWhatWasDelivered(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "served")
	s.createIssuer()
	one := s.serve()
	bundle := s.bundle("workload-1")
	bundle.Spec.Probe = &certificatesv1alpha1.Probe{Address: one.address, ServerName: "shop.{{ .Cluster.Name }}.gold.test"}
	s.create(bundle)
	s.awaitReload(bundle, "workload-1", metav1.ConditionUnknown, certificatesv1alpha1.ReasonProbeFailed)
	s.load(one, "workload-1")
	s.awaitReload(bundle, "workload-1", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionReloadComplete, metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)

	before := s.awaitSecret("workload-1", "ingress", anySecret)
	s.reissue(bundle, "workload-1")
	s.awaitSecret("workload-1", "ingress", differs(before))
	serial := leafOf(t, before).SerialNumber.Text(16)
	s.awaitReloadSaying(bundle, "workload-1", metav1.ConditionFalse, certificatesv1alpha1.ReasonCertificateNotServed, "serves the certificate "+serial)
	s.awaitCondition(bundle, certificatesv1alpha1.ConditionReloadComplete, metav1.ConditionFalse, certificatesv1alpha1.ReasonCertificateNotServed)
	s.load(one, "workload-1")
	s.awaitReload(bundle, "workload-1", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)

	// Nobody asks any more.
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.Probe = nil })
	expect.Eventually(t, "the condition is gone", func(ctx context.Context) error {
		delivery, err := s.delivery(ctx, bundle, "workload-1")
		if err != nil {
			return err
		}
		if meta.FindStatusCondition(delivery.Status.Conditions, certificatesv1alpha1.ConditionReloadComplete) != nil {
			return errors.New("it is there")
		}
		return nil
	})
}

// A service and a pod are connected to by way of the API server of the cluster. The test plays kubelet.
func TestAPodIsProbedByWayOfTheAPIServer(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "forwarded")
	s.createIssuer()
	one := s.serve()
	s.createService("workload-2", one)
	bundle := s.bundle("workload-2")
	bundle.Spec.Probe = &certificatesv1alpha1.Probe{Service: &certificatesv1alpha1.ProbeService{Namespace: s.name, Name: "web"}, Port: 443}
	s.create(bundle)
	s.awaitSecret("workload-2", "ingress", anySecret)
	s.load(one, "workload-2")
	s.awaitReloadSaying(bundle, "workload-2", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded, "port 443 of Service forwarded/web serves")

	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.Probe.Port = 8444 })
	s.awaitReloadSaying(bundle, "workload-2", metav1.ConditionUnknown, certificatesv1alpha1.ReasonProbeFailed, "the service has no port 8444")
	labels := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) {
		b.Spec.Probe = &certificatesv1alpha1.Probe{Pod: &certificatesv1alpha1.ProbePod{Namespace: s.name, Selector: labels}, Port: 8443}
	})
	s.awaitReloadSaying(bundle, "workload-2", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded, "port 8443 of the pods of forwarded with app=web serves")
	s.change(bundle, func(b *certificatesv1alpha1.CertificateBundle) { b.Spec.Probe.Port = 8445 })
	s.awaitReloadSaying(bundle, "workload-2", metav1.ConditionUnknown, certificatesv1alpha1.ReasonProbeFailed, "nothing listens there")
}

// createService makes a service with one pod, whose port 8443 is the server.
func (s *suite) createService(cluster string, one *server) {
	s.Helper()
	workload := s.workload(cluster)
	pod := kubelet.Pod(s.name, "web", s.name)
	must(s, workload.Create(s.Context(), kubelet.Start(s, s.name, map[string]string{"8443": one.address})))
	must(s, workload.Create(s.Context(), pod))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(s, workload.Status().Update(s.Context(), pod))
	place := metav1.ObjectMeta{Namespace: s.name, Name: "web", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}
	must(s, workload.Create(s.Context(), &corev1.Service{ObjectMeta: place, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}}))
	must(s, workload.Create(s.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: place, AddressType: discoveryv1.AddressTypeIPv4,
		Ports:     []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(int32(8443))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: s.name, Name: "web"}}},
	}))
}

// awaitReload waits for the condition of the delivery in a cluster, as it is now.
func (s *suite) awaitReload(bundle *certificatesv1alpha1.CertificateBundle, cluster string, status metav1.ConditionStatus, reason string) {
	s.Helper()
	s.awaitReloadSaying(bundle, cluster, status, reason, "")
}

func (s *suite) awaitReloadSaying(bundle *certificatesv1alpha1.CertificateBundle, cluster string, status metav1.ConditionStatus, reason, text string) {
	s.Helper()
	expect.Eventually(s, fmt.Sprintf("ReloadComplete in %s is %s, and says %q", cluster, status, text), func(ctx context.Context) error {
		delivery, err := s.delivery(ctx, bundle, cluster)
		if err != nil {
			return err
		}
		if complete := delivery.IsReloadComplete(); complete != (status == metav1.ConditionTrue) {
			return fmt.Errorf("it is complete: %t", complete)
		}
		told := meta.FindStatusCondition(delivery.Status.Conditions, certificatesv1alpha1.ConditionReloadComplete)
		if told != nil && !strings.Contains(told.Message, text) {
			return fmt.Errorf("it says %q", told.Message)
		}
		return expect.Condition(delivery.Status.Conditions, certificatesv1alpha1.ConditionReloadComplete, status, reason)
	})
}

// manifest of a Deployment that mounts the test's Secret.
const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: example.com/web, volumeMounts: [{name: tls, mountPath: /tls}]}]
      volumes: [{name: tls, projected: {sources: [{secret: {name: ingress}}]}}]
`

// The Deployment is an add-on's: neither takes back what the other does. The test plays its controller, of which none runs here.
func TestWorkloadsAreRestartedForARenewalAndOnlyForThat(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "restarted")
	s.createIssuer()
	addon := &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: customer, Name: s.name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"workload-1"}}, Namespace: s.name,
			Source: addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifest}}, Drift: metav1alpha1.DriftPolicy{Additions: metav1alpha1.DriftAdditionsAll},
		},
	}
	must(t, env.Admin.Create(t.Context(), addon))
	s.awaitRollOut("workload-1", nil)
	bundle := s.bundle("workload-1")
	bundle.Spec.Targets[0].Reload = certificatesv1alpha1.ReloadRestartWorkloads
	s.create(bundle)
	s.awaitReloadSaying(bundle, "workload-1", metav1.ConditionFalse, certificatesv1alpha1.ReasonRestarting, "Deployment restarted/web: its controller has not seen the change yet")
	first := s.awaitRollOut("workload-1", map[string]string{})
	if len(first) != 1 {
		t.Fatalf("the pods are annotated with %v", first)
	}
	s.awaitReload(bundle, "workload-1", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)

	before := s.awaitSecret("workload-1", "ingress", anySecret)
	s.reissue(bundle, "workload-1")
	s.awaitSecret("workload-1", "ingress", differs(before))
	second := s.awaitRollOut("workload-1", first)
	if !slices.Equal(slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second))) {
		t.Errorf("the pods are annotated with %v, after %v", second, first)
	}
	s.awaitReload(bundle, "workload-1", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)

	// What somebody deletes is put back with the same content, which the pods have loaded.
	must(t, s.workload("workload-1").Delete(t.Context(), s.awaitSecret("workload-1", "ingress", anySecret)))
	s.awaitSecret("workload-1", "ingress", anySecret)
	// A bundle that goes leaves the annotation: to take it away would restart the pods.
	must(t, env.Admin.Delete(t.Context(), bundle))
	s.awaitGone("the Secret", func(ctx context.Context) error {
		_, err := s.secret(ctx, "workload-1", "ingress")
		return err
	})
	if left := s.deploymentIn(t.Context(), "workload-1").Spec.Template.Annotations; !maps.Equal(left, second) {
		t.Errorf("the pods are annotated with %v, after %v", left, second)
	}
	s.expectNoDrift(addon)
}

func (s *suite) deploymentIn(ctx context.Context, cluster string) *appsv1.Deployment {
	s.Helper()
	found := &appsv1.Deployment{}
	must(s, s.workload(cluster).Get(ctx, client.ObjectKey{Namespace: s.name, Name: "web"}, found))
	return found
}

// awaitRollOut waits until the pods of the Deployment are to have other annotations, and tells that they do, as the controller
// of Deployments would. It returns the annotations.
func (s *suite) awaitRollOut(cluster string, before map[string]string) map[string]string {
	s.Helper()
	found := &appsv1.Deployment{}
	expect.Eventually(s, "the Deployment is rolled out in "+cluster, func(ctx context.Context) error {
		if err := s.workload(cluster).Get(ctx, client.ObjectKey{Namespace: s.name, Name: "web"}, found); err != nil {
			return err
		}
		if before != nil && maps.Equal(found.Spec.Template.Annotations, before) {
			return errors.New("the pods have the annotations that they had")
		}
		found.Status = appsv1.DeploymentStatus{ObservedGeneration: found.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
		return s.workload(cluster).Status().Update(ctx, found)
	})
	return found.Spec.Template.Annotations
}

func (s *suite) expectNoDrift(addon *addonsv1alpha1.SaaSAddon) {
	s.Helper()
	list := &addonsv1alpha1.AddonReleaseList{}
	must(s, env.Admin.List(s.Context(), list, client.InNamespace(customer), client.MatchingLabels{metav1alpha1.LabelPolicy: addon.Name}))
	if len(list.Items) != 1 || list.Items[0].Status.Drift.Count != 0 {
		s.Errorf("the add-on took back what restarts its pods: %+v", list.Items)
	}
}

func TestWorkloadsWaitForTheirWindow(t *testing.T) {
	t.Parallel()
	s := newSuite(t, "window")
	s.createIssuer()
	// A window that opens once a year.
	window := metav1alpha1.RecurringWindow{
		Schedule: time.Now().AddDate(0, 0, -7).UTC().Format("4 15 2 1 *"), Duration: metav1.Duration{Duration: time.Hour},
	}
	s.setWindows("workload-3", window)
	deployment := s.createDeployment("workload-3")
	bundle := s.bundle("workload-3")
	bundle.Spec.Targets[0].Reload = certificatesv1alpha1.ReloadRestartWorkloads
	s.create(bundle)
	s.awaitReloadSaying(bundle, "workload-3", metav1.ConditionFalse, metav1alpha1.ReasonWindowClosed, "Deployment window/web wait for the maintenance window that opens at 20")
	if now := s.deploymentIn(t.Context(), "workload-3"); now.Generation != deployment.Generation {
		t.Error("it was changed outside of its window")
	}
	s.setWindows("workload-3")
	s.awaitRollOut("workload-3", map[string]string{})
	s.awaitReload(bundle, "workload-3", metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded)
}

// createDeployment makes the Deployment, which is nobody's.
func (s *suite) createDeployment(cluster string) *appsv1.Deployment {
	s.Helper()
	object := &appsv1.Deployment{}
	must(s, yaml.UnmarshalStrict([]byte(manifest), object))
	object.Namespace = s.name
	must(s, s.workload(cluster).Create(s.Context(), object))
	return object
}

func (s *suite) setWindows(cluster string, windows ...metav1alpha1.RecurringWindow) {
	s.Helper()
	expect.Eventually(s, "the windows of "+cluster+" are set", func(ctx context.Context) error {
		tenant := &tenancyv1alpha1.TenantCluster{}
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: customer, Name: cluster}, tenant); err != nil {
			return err
		}
		tenant.Spec.MaintenanceWindows = windows
		return env.Admin.Update(ctx, tenant)
	})
}
