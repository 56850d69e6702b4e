package controllers

import (
	"fmt"

	"github.com/daytwo-dev/daytwo/tools/local/provider/api/v1alpha1"
)

// observed is what is known about a control plane.
type observed struct {
	// injected is the message of a failure that somebody asked for, or "".
	injected string
	// hasEndpoint tells whether there is a port to listen on.
	hasEndpoint bool
	// running tells whether all programs run, in version runs.
	running bool
	runs    string
	// upToDate tells whether programs that run are those of the spec.
	upToDate bool
	// unknownVersion says what is wrong with the version of the spec, or is "".
	unknownVersion string
	// notReady is why the API server that runs is not ready, or nil.
	notReady error
	// failed is why the programs could not be started, or nil.
	failed error
}

// report writes into the status what was observed.
func report(plane *v1alpha1.LocalControlPlane, o observed) {
	reason, message := o.availability(plane)
	available := reason == v1alpha1.ReasonReady
	setCondition(plane, v1alpha1.ConditionAvailable, available, reason, message)
	setRollingOut(plane, o)

	plane.Status.ExternalManagedControlPlane = new(true)
	var replicas, ready, upToDate int32
	if o.running {
		replicas = desiredReplicas(plane)
		plane.Status.Version = o.runs
	}
	if available {
		ready = replicas
		plane.Status.Initialization.ControlPlaneInitialized = new(true)
	}
	if o.upToDate {
		upToDate = replicas
	}
	plane.Status.Replicas, plane.Status.UpToDateReplicas = &replicas, &upToDate
	plane.Status.ReadyReplicas, plane.Status.AvailableReplicas = &ready, new(ready)
}

// availability returns why the control plane is available or not. The reason is
// ReasonReady if it is.
func (o observed) availability(plane *v1alpha1.LocalControlPlane) (reason, message string) {
	switch {
	case o.injected != "":
		return v1alpha1.ReasonInjectedFailure, o.injected
	case !o.hasEndpoint:
		return v1alpha1.ReasonWaiting, "waiting for the cluster's endpoint"
	case o.failed != nil:
		return v1alpha1.ReasonFailed, o.failed.Error()
	case o.running && o.unknownVersion == "" && !o.upToDate:
		return v1alpha1.ReasonRollingOut, o.rollout(plane)
	case o.running && o.notReady != nil:
		return v1alpha1.ReasonFailed, fmt.Sprintf("the API server does not answer: %v", o.notReady)
	case o.running:
		return v1alpha1.ReasonReady, ""
	case o.unknownVersion != "":
		return v1alpha1.ReasonUnknownVersion, o.unknownVersion
	}
	return v1alpha1.ReasonStarting, "programs of the control plane are being started"
}

func setRollingOut(plane *v1alpha1.LocalControlPlane, o observed) {
	switch {
	case o.upToDate || !o.hasEndpoint || !ptrTrue(plane.Status.Initialization.ControlPlaneInitialized):
		setCondition(plane, v1alpha1.ConditionRollingOut, false, v1alpha1.ReasonReady, "")
	case o.unknownVersion != "":
		setCondition(plane, v1alpha1.ConditionRollingOut, true, v1alpha1.ReasonUnknownVersion, o.unknownVersion)
	default:
		setCondition(plane, v1alpha1.ConditionRollingOut, true, v1alpha1.ReasonRollingOut, o.rollout(plane))
	}
}

// rollout describes the way from what runs to what is asked for.
func (o observed) rollout(plane *v1alpha1.LocalControlPlane) string {
	if o.runs == plane.Spec.Version {
		return "going to other flags of the API server"
	}
	return fmt.Sprintf("going from %s to %s", o.runs, plane.Spec.Version)
}

func desiredReplicas(plane *v1alpha1.LocalControlPlane) int32 {
	if plane.Spec.Replicas == nil {
		return 1
	}
	return *plane.Spec.Replicas
}
