package webhooks

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
