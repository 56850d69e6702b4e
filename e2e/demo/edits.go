package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// edit is a change that somebody makes by hand.
type edit struct {
	// addon that the object is of, and the customer in whose cluster.
	addon    string
	customer customer
	// command is what they type; tried is what it amounts to.
	command, tried string
	object         client.Object
	list           client.ObjectList
	// make changes the object, which it is given as it is in the cluster.
	make func(context.Context, client.Client, client.Object) error
	// declared tells whether an object is as the add-on declares it.
	declared func(client.Object) bool
}

// edits are one for every way in which people drift away from what is declared.
func (s *story) edits() []edit {
	acme, globex, initech := s.customers[0], s.customers[1], s.customers[2]
	return []edit{
		{
			addonName, acme, "edit configmap " + settingsName, "a setting is edited",
			settings(), &corev1.ConfigMapList{}, editSetting, settingDeclared,
		},
		{
			addonName, globex, "edit deployment " + deploymentName, "a sidecar container is added",
			deployment(), &appsv1.DeploymentList{}, addSidecar, deploymentDeclared,
		},
		{
			addonName, initech, "scale deployment " + deploymentName + " --replicas=9", "the Deployment is scaled from 2 to 9",
			deployment(), &appsv1.DeploymentList{}, scaleUp, deploymentDeclared,
		},
		{
			addonName, acme, "delete deployment " + deploymentName, "the whole Deployment is deleted",
			deployment(), &appsv1.DeploymentList{}, deleteObject, deploymentDeclared,
		},
	}
}

func settings() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: addonNamespace, Name: settingsName}}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: addonNamespace, Name: deploymentName}}
}

func editSetting(ctx context.Context, c client.Client, object client.Object) error {
	edited := object.DeepCopyObject().(*corev1.ConfigMap)
	edited.Data[maxMemoryKey] = "1mb"
	return c.Patch(ctx, edited, client.StrategicMergeFrom(object), client.FieldOwner("kubectl-edit"))
}

func addSidecar(ctx context.Context, c client.Client, object client.Object) error {
	edited := object.DeepCopyObject().(*appsv1.Deployment)
	pod := &edited.Spec.Template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "debug", Image: "busybox"})
	return c.Patch(ctx, edited, client.StrategicMergeFrom(object), client.FieldOwner("kubectl-edit"))
}

func scaleUp(ctx context.Context, c client.Client, object client.Object) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 9},
	}
	return c.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(scale), client.FieldOwner("kubectl"))
}

func deleteObject(ctx context.Context, c client.Client, object client.Object) error {
	return c.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func settingDeclared(object client.Object) bool {
	return object.(*corev1.ConfigMap).Data[maxMemoryKey] == maxMemory
}

func deploymentDeclared(object client.Object) bool {
	spec := object.(*appsv1.Deployment).Spec
	return spec.Replicas != nil && *spec.Replicas == replicas && len(spec.Template.Spec.Containers) == 1
}
