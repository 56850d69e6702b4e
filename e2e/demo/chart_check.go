package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Names and values of what the chart renders to.
const (
	webSettings  = chartName + "-settings"
	webDashboard = chartName + "-dashboard"
	webEgress    = chartName + "-egress"
	webReplicas  = 2
	webImage     = "docker.io/library/nginx:"
	// webTag is the appVersion of the second version of the chart.
	webTag = "1.29.0"
)

// checkChart does not take the manager's word for it that the chart is there, as each customer's values
// make it.
func (s *story) checkChart(ctx context.Context) error {
	for _, c := range s.customers {
		workload, err := s.env.Workload(c.name)
		if err != nil {
			return err
		}
		settings := &corev1.ConfigMap{}
		if err := workload.Get(ctx, client.ObjectKey{Namespace: chartName, Name: webSettings}, settings); err != nil {
			return err
		}
		if want, got := c.namespace()+hostSuffix, settings.Data["HOST"]; got != want {
			return fmt.Errorf("in cluster %s the value host came to %q; want %q", c.name, got, want)
		}
		deployment := web()
		if err := workload.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		if ready := deployment.Status.ReadyReplicas; ready != webReplicas {
			return fmt.Errorf("in cluster %s, %d of %d pods of the chart are ready although it is said to be", c.name, ready, webReplicas)
		}
	}
	return nil
}

// checkUpgraded looks for what the second version of the chart changes, adds and drops.
func (s *story) checkUpgraded(ctx context.Context) error {
	for _, c := range s.customers {
		workload, err := s.env.Workload(c.name)
		if err != nil {
			return err
		}
		deployment := web()
		if err := workload.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		if !webDeclared(deployment) {
			return fmt.Errorf("in cluster %s the image is %s; want %s", c.name, deployment.Spec.Template.Spec.Containers[0].Image, webImage+webTag)
		}
		if err := workload.Get(ctx, client.ObjectKey{Namespace: chartName, Name: webEgress}, &networkingv1.NetworkPolicy{}); err != nil {
			return fmt.Errorf("in cluster %s: %w", c.name, err)
		}
		err = workload.Get(ctx, client.ObjectKey{Namespace: chartName, Name: webDashboard}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("in cluster %s, ConfigMap %s outlives the version of the chart that it was part of (%v)", c.name, webDashboard, err)
		}
	}
	s.screen.Note(fmt.Sprintf("Deployment %s runs %s, NetworkPolicy %s is new, ConfigMap %s is gone", chartName, webImage+webTag, webEgress, webDashboard))
	return nil
}

// imageEdit is somebody who tries another image.
func (s *story) imageEdit() edit {
	return edit{
		chartName, s.customers[2], "set image deployment " + chartName + " web=" + webImage + "latest", "an image of the Helm release is changed",
		web(), &appsv1.DeploymentList{}, setImage, webDeclared,
	}
}

func web() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: chartName, Name: chartName}}
}

func setImage(ctx context.Context, c client.Client, object client.Object) error {
	edited := object.DeepCopyObject().(*appsv1.Deployment)
	edited.Spec.Template.Spec.Containers[0].Image = webImage + "latest"
	return c.Patch(ctx, edited, client.StrategicMergeFrom(object), client.FieldOwner("kubectl-set"))
}

func webDeclared(object client.Object) bool {
	containers := object.(*appsv1.Deployment).Spec.Template.Spec.Containers
	return len(containers) == 1 && containers[0].Image == webImage+webTag
}
