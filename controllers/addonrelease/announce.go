package addonrelease

import (
	corev1 "k8s.io/api/core/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Events: types, reasons and actions.
const (
	eventWarning = corev1.EventTypeWarning

	eventWithoutHooks = "UninstalledWithoutHooks"

	actionDelete = "Delete"
)

// announce tells people what was done beside the objects.
func (r *Reconciler) announce(o observation, done result) {
	release := o.release
	if why := o.whyWithoutHooks(); why != "" && done.helm.Purged {
		r.Recorder.Eventf(release, nil, eventWarning, eventWithoutHooks, actionDelete, "uninstalled in %s without its hooks: %s", release.Spec.ClusterRef.Name, why)
	}
}

// whyWithoutHooks says why a release ends without its hooks; empty if it does not.
func (o observation) whyWithoutHooks() string {
	switch {
	case o.helm.Unrendered != nil:
		return o.helm.Unrendered.Error()
	case skipsDeleteHooks(o.release):
		return "the annotation " + metav1alpha1.AnnotationSkipDeleteHooks + " asks for it"
	}
	return ""
}
