package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestTheFloorAppliesTheChartAndItsNamespace(t *testing.T) {
	objects, err := loadChart("chart-1", "workload-1")
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 16 || objects[0].Resource != "namespaces" || objects[0].Name != "chart-1" {
		t.Fatalf("%d objects, the first is %s %s; want the namespace and 15 more", len(objects), objects[0].Resource, objects[0].Name)
	}
	hosts := 0
	for _, object := range objects[1:] {
		body := string(object.Body)
		if object.Namespace != "chart-1" || !strings.Contains(body, `"meta.helm.sh/release-name":"chart-1"`) {
			t.Errorf("%s %s is not marked as the release's: %s", object.Resource, object.Name, body)
		}
		if strings.Contains(body, "workload-1.example.com") {
			hosts++
		}
	}
	if hosts == 0 {
		t.Error("no object has the cluster's own host")
	}
}

func TestAChartHasArrivedOnceItIsAppliedAndOnRecord(t *testing.T) {
	tests := map[string]struct {
		applied metav1.ConditionStatus
		version int32
		change  func(*addonsv1alpha1.AddonRelease)
		want    bool
	}{
		"both":           {metav1.ConditionTrue, 1, nil, true},
		"no record":      {metav1.ConditionTrue, 0, nil, false},
		"not applied":    {metav1.ConditionFalse, 1, nil, false},
		"an earlier one": {metav1.ConditionTrue, 1, func(r *addonsv1alpha1.AddonRelease) { r.Spec.Revision = "web-2" }, false},
		"manifests":      {metav1.ConditionTrue, 1, func(r *addonsv1alpha1.AddonRelease) { r.Status.Helm = nil }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := &addonsv1alpha1.AddonRelease{}
			target.Spec.Revision, target.Status.Revision = "web-1", "web-1"
			target.Status.Helm = &addonsv1alpha1.HelmRelease{Version: test.version}
			target.Status.Conditions = []metav1.Condition{{Type: metav1alpha1.ConditionApplied, Status: test.applied}}
			if test.change != nil {
				test.change(target)
			}
			if got := isInstalled(target); got != test.want {
				t.Errorf("arrived: %v, want %v", got, test.want)
			}
		})
	}
}
