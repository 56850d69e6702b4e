package probe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestAPodIsReachedAtThePortThatItsServiceLeadsTo(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443}}}}
	if name, err := portOf(service, 443); name != "https" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
	if name, err := portOf(service, 8443); err == nil {
		t.Errorf("got %q", name)
	}
	pod := func(name string) *corev1.ObjectReference { return &corev1.ObjectReference{Kind: "Pod", Name: name} }
	ports := []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}, {Name: ptr.To("https"), Port: ptr.To(int32(8443))}, {Name: ptr.To("none")}}
	endpoints := []discoveryv1.Endpoint{
		{TargetRef: pod("a"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
		{}, {TargetRef: &corev1.ObjectReference{Kind: "Node", Name: "b"}},
		{TargetRef: pod("c"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}, {TargetRef: pod("d")},
	}
	for name, test := range map[string]struct {
		slice discoveryv1.EndpointSlice
		port  string
		pod   string
		at    int32
	}{
		"the first that is ready":        {discoveryv1.EndpointSlice{Ports: ports, Endpoints: endpoints}, "https", "c", 8443},
		"one of which nobody says so":    {discoveryv1.EndpointSlice{Ports: ports, Endpoints: endpoints[4:]}, "http", "d", 8080},
		"none is ready":                  {discoveryv1.EndpointSlice{Ports: ports, Endpoints: endpoints[:3]}, "https", "", 0},
		"no such port":                   {discoveryv1.EndpointSlice{Ports: ports, Endpoints: endpoints}, "grpc", "", 0},
		"a port without a number":        {discoveryv1.EndpointSlice{Ports: ports, Endpoints: endpoints}, "none", "", 0},
		"the only port needs no name":    {discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: ptr.To(int32(9443))}}, Endpoints: endpoints}, "", "c", 9443},
		"the only port has an empty one": {discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To(int32(9443))}}, Endpoints: endpoints}, "", "c", 9443},
		"nothing":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			if pod, at := readyIn(&test.slice, test.port); pod != test.pod || at != test.at {
				t.Errorf("got port %d of %q", at, pod)
			}
		})
	}
}

func TestAPodIsReadyWhenItSaysSoAndDoesNotGo(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}}
	if isReady(pod) {
		t.Error("it does not say so")
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	if !isReady(pod) {
		t.Error("it says so")
	}
	if pod.DeletionTimestamp = ptr.To(metav1.Now()); isReady(pod) {
		t.Error("it goes")
	}
}
