package controllers

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

func TestReportSaysWhyAControlPlaneIsNotAvailable(t *testing.T) {
	runs := observed{hasEndpoint: true, running: true, runs: "v1.35.4", upToDate: true}
	tests := map[string]struct {
		change     func(*observed)
		reason     string
		rollingOut bool
		replicas   int32
		upToDate   int32
	}{
		"as it should be": {func(*observed) {}, v1alpha1.ReasonReady, false, 3, 3},
		"no endpoint":     {func(o *observed) { *o = observed{} }, v1alpha1.ReasonWaiting, false, 0, 0},
		"died":            {func(o *observed) { o.running = false }, v1alpha1.ReasonStarting, false, 0, 0},
		"does not answer": {func(o *observed) { o.notReady = errors.New("timeout") }, v1alpha1.ReasonFailed, false, 3, 3},
		"told to fail":    {func(o *observed) { o.injected = "broken" }, v1alpha1.ReasonInjectedFailure, false, 3, 3},
		"does not start": {func(o *observed) { o.running, o.failed = false, errors.New("port taken") },
			v1alpha1.ReasonFailed, false, 0, 0},
		"older version": {func(o *observed) { o.upToDate = false }, v1alpha1.ReasonRollingOut, true, 3, 0},
		"unknown version asked for": {func(o *observed) { o.upToDate, o.unknownVersion = false, "there is none" },
			v1alpha1.ReasonReady, true, 3, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plane := &v1alpha1.LocalControlPlane{}
			plane.Spec.Replicas = new(int32(3))
			plane.Status.Initialization.ControlPlaneInitialized = new(true)
			o := runs
			test.change(&o)
			report(plane, o)

			available := meta.FindStatusCondition(plane.Status.Conditions, v1alpha1.ConditionAvailable)
			wantStatus := metav1.ConditionFalse
			if test.reason == v1alpha1.ReasonReady {
				wantStatus = metav1.ConditionTrue
			}
			if available.Reason != test.reason || available.Status != wantStatus {
				t.Errorf("available: %s for %s (%s), want %s", available.Status, available.Reason, available.Message, test.reason)
			}
			if available.Status == metav1.ConditionFalse && available.Message == "" {
				t.Error("not available, without a message")
			}
			if rolling := meta.IsStatusConditionTrue(plane.Status.Conditions, v1alpha1.ConditionRollingOut); rolling != test.rollingOut {
				t.Errorf("rolling out: %t, want %t", rolling, test.rollingOut)
			}
			if *plane.Status.Replicas != test.replicas || *plane.Status.UpToDateReplicas != test.upToDate {
				t.Errorf("%d replicas, %d of them up to date; want %d and %d",
					*plane.Status.Replicas, *plane.Status.UpToDateReplicas, test.replicas, test.upToDate)
			}
		})
	}
}

func TestAControlPlaneIsInitializedOnceItAnswered(t *testing.T) {
	plane := &v1alpha1.LocalControlPlane{}
	report(plane, observed{hasEndpoint: true})
	if plane.Status.Initialization.ControlPlaneInitialized != nil {
		t.Error("initialized before anything ran")
	}
	report(plane, observed{hasEndpoint: true, running: true, upToDate: true, runs: "v1.36.3"})
	report(plane, observed{hasEndpoint: true})
	if !ptrTrue(plane.Status.Initialization.ControlPlaneInitialized) || plane.Status.Version != "v1.36.3" {
		t.Errorf("after the programs died: %+v", plane.Status)
	}
}
