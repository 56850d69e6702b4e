package probe

import (
	"context"
	"errors"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxPods is how many pods, or slices of the endpoints of a service, are looked at for one that is ready.
const maxPods = 500

var (
	pods           = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	services       = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	endpointSlices = schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
)

// errFound ends a list early.
var errFound = errors.New("a pod is found")

// Cluster is what a probe needs of a workload cluster: see fleet.Cluster.
type Cluster interface {
	Each(ctx context.Context, kind schema.GroupVersionKind, namespace, selector string, limit int, take func(*unstructured.Unstructured) error) error
	Lookup(ctx context.Context, ref objects.Ref) (map[string]any, error)
	ForwardToPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error)
}

// DialService connects to a ready pod of a service, at what the service's port leads to.
func DialService(cluster Cluster, namespace, name string, port int32) Dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		content, err := cluster.Lookup(ctx, objects.Ref{GroupVersionKind: services, Namespace: namespace, Name: name})
		if err != nil {
			return nil, err
		}
		service := &corev1.Service{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, service); err != nil {
			return nil, fmt.Errorf("the service cannot be read: %w", err)
		}
		portName, err := portOf(service, port)
		if err != nil {
			return nil, err
		}
		pod, target, err := readyEndpoint(ctx, cluster, namespace, name, portName)
		if err != nil {
			return nil, err
		}
		return cluster.ForwardToPod(ctx, namespace, pod, target)
	}
}

// portOf is the name of a service's port, which its endpoints have too.
func portOf(service *corev1.Service, number int32) (string, error) {
	for _, port := range service.Spec.Ports {
		if port.Port == number {
			return port.Name, nil
		}
	}
	return "", fmt.Errorf("the service has no port %d", number)
}

// readyEndpoint is the first pod among the endpoints of a service that is ready, and its port.
func readyEndpoint(ctx context.Context, cluster Cluster, namespace, service, portName string) (pod string, port int32, err error) {
	err = cluster.Each(ctx, endpointSlices, namespace, discoveryv1.LabelServiceName+"="+service, maxPods, func(object *unstructured.Unstructured) error {
		slice := &discoveryv1.EndpointSlice{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, slice); err != nil {
			return fmt.Errorf("an EndpointSlice cannot be read: %w", err)
		}
		if pod, port = readyIn(slice, portName); pod != "" {
			return errFound
		}
		return nil
	})
	if err = found(err); err == nil && pod == "" {
		err = errors.New("no pod of the service is ready")
	}
	return pod, port, err
}

// readyIn is the first pod of a slice that is ready, and its port; empty if there is none.
func readyIn(slice *discoveryv1.EndpointSlice, portName string) (pod string, port int32) {
	for _, one := range slice.Ports {
		if one.Port != nil && (one.Name == nil && portName == "" || one.Name != nil && *one.Name == portName) {
			port = *one.Port
		}
	}
	for _, endpoint := range slice.Endpoints {
		ready, target := endpoint.Conditions.Ready, endpoint.TargetRef
		if port > 0 && (ready == nil || *ready) && target != nil && target.Kind == pods.Kind {
			return target.Name, port
		}
	}
	return "", 0
}

// DialPod connects to a port of a ready pod.
func DialPod(cluster Cluster, namespace string, selector *metav1.LabelSelector, port int32) Dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		chosen, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return nil, err
		}
		var name string
		err = cluster.Each(ctx, pods, namespace, chosen.String(), maxPods, func(object *unstructured.Unstructured) error {
			pod := &corev1.Pod{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod); err != nil {
				return fmt.Errorf("a pod cannot be read: %w", err)
			}
			if isReady(pod) {
				name = pod.Name
				return errFound
			}
			return nil
		})
		if err := found(err); err != nil {
			return nil, err
		}
		if name == "" {
			return nil, errors.New("none of the pods that are selected is ready")
		}
		return cluster.ForwardToPod(ctx, namespace, name, port)
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// found is why a list failed; nil if it ended because something was found.
func found(err error) error {
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}
