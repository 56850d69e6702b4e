package webhooks

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// deployed reads one object of config/default.
func deployed(t *testing.T, kind, name string, into any) {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../config/default")
	must(t, err)
	for _, resource := range built.Resources() {
		if resource.GetKind() == kind && resource.GetName() == name {
			content, err := resource.AsYAML()
			must(t, err)
			must(t, yaml.UnmarshalStrict(content, into))
			return
		}
	}
	t.Fatalf("config/default has no %s %s", kind, name)
}

func TestTheDeploymentServesWhatTheConfigurationAsks(t *testing.T) {
	hooks, service, manager := &admissionv1.ValidatingWebhookConfiguration{}, &corev1.Service{}, &appsv1.Deployment{}
	deployed(t, "ValidatingWebhookConfiguration", "daytwo", hooks)
	deployed(t, "Service", "daytwo-webhook", service)
	deployed(t, "Deployment", "daytwo-manager", manager)
	pod := manager.Spec.Template
	for _, hook := range hooks.Webhooks {
		if asks := hook.ClientConfig.Service; asks.Name != service.Name || asks.Namespace != service.Namespace {
			t.Errorf("%s asks Service %s/%s", hook.Name, asks.Namespace, asks.Name)
		}
	}
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects pods with %s=%s", key, value)
		}
	}
	container := pod.Spec.Containers[0]
	if !slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool {
		return port.Name == service.Spec.Ports[0].TargetPort.StrVal && port.ContainerPort == 9443
	}) || !slices.Contains(container.Args, "--webhook-bind-address=:9443") {
		t.Errorf("the manager does not serve the Service: ports %v, arguments %v", container.Ports, container.Args)
	}
	if mount := container.VolumeMounts[0]; !slices.Contains(container.Args, "--webhook-cert-dir="+mount.MountPath) || mount.Name != pod.Spec.Volumes[0].Name {
		t.Errorf("the manager does not read the certificate that is mounted: %v, %v", mount, container.Args)
	}
}

// None of these is looked at by anybody: without a certificate that an API server trusts, everything just passes.
func TestTheCertificateIsTheOneThatIsServedAndTrusted(t *testing.T) {
	hooks, service, manager := &admissionv1.ValidatingWebhookConfiguration{}, &corev1.Service{}, &appsv1.Deployment{}
	certificate, issuer := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	deployed(t, "ValidatingWebhookConfiguration", "daytwo", hooks)
	deployed(t, "Service", "daytwo-webhook", service)
	deployed(t, "Deployment", "daytwo-manager", manager)
	deployed(t, "Certificate", "daytwo-webhook", certificate)
	deployed(t, "Issuer", "daytwo-webhook", issuer)
	if source := hooks.Annotations["cert-manager.io/inject-ca-from"]; source != certificate.GetNamespace()+"/"+certificate.GetName() {
		t.Errorf("what is trusted is taken from Certificate %q", source)
	}
	secret, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	must(t, err)
	pod := manager.Spec.Template.Spec
	if mounted := pod.Volumes[0].Secret; mounted == nil || mounted.SecretName != secret || manager.Namespace != certificate.GetNamespace() {
		t.Errorf("the certificate is in Secret %s/%s, and %s mounts %+v", certificate.GetNamespace(), secret, manager.Namespace, mounted)
	}
	names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	must(t, err)
	if asked := service.Name + "." + service.Namespace + ".svc"; !slices.Contains(names, asked) {
		t.Errorf("the certificate is for %v, and %s is asked", names, asked)
	}
	by, _, err := unstructured.NestedStringMap(certificate.Object, "spec", "issuerRef")
	must(t, err)
	if by["kind"] != issuer.GetKind() || by["name"] != issuer.GetName() || issuer.GetNamespace() != certificate.GetNamespace() {
		t.Errorf("nobody issues the certificate: %v", by)
	}
}
