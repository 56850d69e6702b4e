package saasaddon

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const ownLabelDomain = "daytwo.dev/"

// parametersOf is what templates may know of a cluster.
func parametersOf(cluster *tenancyv1alpha1.TenantCluster) metav1alpha1.ClusterParameters {
	parameters := metav1alpha1.ClusterParameters{Version: minorVersion(cluster.Status.Version)}
	for key, value := range cluster.Labels {
		if strings.HasPrefix(key, ownLabelDomain) {
			continue
		}
		if parameters.Labels == nil {
			parameters.Labels = map[string]string{}
		}
		parameters.Labels[key] = value
	}
	return parameters
}

// minorVersion makes "1.36" of "v1.36.3", and nothing of what is no version.
func minorVersion(full string) string {
	parsed, err := version.ParseGeneric(full)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d.%d", parsed.Major(), parsed.Minor())
}

// comparableParameters makes parameters comparable: JSON sorts the keys of maps.
func comparableParameters(parameters metav1alpha1.ClusterParameters) string {
	encoded, err := json.Marshal(parameters)
	if err != nil {
		panic(fmt.Sprintf("strings and maps of strings are always JSON: %v", err))
	}
	return string(encoded)
}

// isConnected is whether a cluster answers, is the right one, and has told its version.
func isConnected(cluster *tenancyv1alpha1.TenantCluster) bool {
	conditions := cluster.Status.Conditions
	return meta.IsStatusConditionTrue(conditions, tenancyv1alpha1.ConditionConnected) &&
		!meta.IsStatusConditionTrue(conditions, tenancyv1alpha1.ConditionIdentityConflict) &&
		minorVersion(cluster.Status.Version) != ""
}

// settings are what a target takes from its policy that is no part of the revision.
type settings struct {
	drift          addonsv1alpha1.DriftPolicy
	deletionPolicy metav1alpha1.DeletionPolicy
	suspend        bool
	requestedAt    string
	runTests       string
	adopt          bool
}

func (s settings) setOn(spec *addonsv1alpha1.AddonReleaseSpec) {
	spec.Drift = *s.drift.DeepCopy()
	spec.DeletionPolicy = s.deletionPolicy
	spec.Suspend = s.suspend
	spec.RequestedAt = s.requestedAt
	spec.RunTests = s.runTests
	spec.Adopt = s.adopt
}

func (s settings) areOn(spec *addonsv1alpha1.AddonReleaseSpec) bool {
	return spec.DeletionPolicy == s.deletionPolicy && spec.Suspend == s.suspend && spec.RequestedAt == s.requestedAt &&
		spec.RunTests == s.runTests && spec.Adopt == s.adopt &&
		equality.Semantic.DeepEqual(spec.Drift, s.drift)
}

// newTarget is the add-on in one cluster. Its finalizer is there from the start: nothing is done
// in a cluster that could not be undone.
func newTarget(addon *addonsv1alpha1.SaaSAddon, cluster rollout.ClusterKey) *addonsv1alpha1.AddonRelease {
	return &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: addon.Namespace,
			Name:      rollout.TargetName(addon.Name, cluster),
			Labels: map[string]string{
				metav1alpha1.LabelPolicy:           addon.Name,
				metav1alpha1.LabelCluster:          cluster.Name,
				metav1alpha1.LabelClusterNamespace: cluster.Namespace,
			},
			Finalizers: []string{metav1alpha1.FinalizerTarget},
		},
		Spec: addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference(cluster)}},
	}
}

// stateOf is what a target says of its current generation, and the message that goes with it.
func stateOf(target *addonsv1alpha1.AddonRelease) (rollout.State, string) {
	ready := currentCondition(target, metav1alpha1.ConditionReady)
	stalled := currentCondition(target, metav1alpha1.ConditionStalled)
	switch {
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		return rollout.Failed, stalled.Message
	case ready == nil:
		return rollout.Progressing, ""
	case ready.Status == metav1.ConditionTrue:
		return rollout.Ready, ready.Message
	case isUnknown(ready.Reason):
		return rollout.Unreachable, ready.Message
	case ready.Status == metav1.ConditionUnknown || isOnItsWay(ready.Reason):
		return rollout.Progressing, ready.Message
	}
	return rollout.Failed, ready.Message
}

// isUnknown tells the reasons for which a target could not look.
func isUnknown(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonClusterUnreachable, addonsv1alpha1.ReasonAbandoned, addonsv1alpha1.ReasonKindUnavailable:
		return true
	}
	return false
}

// isOnItsWay tells the reasons for which a target that is not ready has not failed.
func isOnItsWay(reason string) bool {
	switch reason {
	case metav1alpha1.ReasonProgressing, metav1alpha1.ReasonSuspended, metav1alpha1.ReasonDeleting, addonsv1alpha1.ReasonWaiting, addonsv1alpha1.ReasonHookRunning:
		return true
	}
	return false
}

// readySince is when a target became Ready in its current generation; zero if it is not.
func readySince(target *addonsv1alpha1.AddonRelease) time.Time {
	ready := currentCondition(target, metav1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

func currentCondition(target *addonsv1alpha1.AddonRelease, kind string) *metav1.Condition {
	condition := meta.FindStatusCondition(target.Status.Conditions, kind)
	if condition == nil || condition.ObservedGeneration != target.Generation {
		return nil
	}
	return condition
}
