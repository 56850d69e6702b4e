package clusterstate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	ownLabelDomain = "daytwo.dev/"

	// parametersHashBytes are enough that a customer who looks for two sets of labels with the same hash needs 2^64 tries,
	// and finds them for clusters of theirs.
	parametersHashBytes = 16
)

// ParametersOf is what templates may know of a cluster, which is none of Daytwo's own labels.
func ParametersOf(cluster *tenancyv1alpha1.TenantCluster) metav1alpha1.ClusterParameters {
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

// Comparable makes parameters comparable, as a hash: two clusters' parameters that differ have different ones.
func Comparable(parameters metav1alpha1.ClusterParameters) string {
	encoded, err := json.Marshal(parameters) // JSON sorts the keys of maps.
	if err != nil {
		panic(fmt.Sprintf("strings and maps of strings are always JSON: %v", err))
	}
	sum := sha256.Sum256(encoded)
	return string(sum[:parametersHashBytes])
}

// IsConnected is whether a cluster answers, is the right one, and has told its version.
func IsConnected(cluster *tenancyv1alpha1.TenantCluster) bool {
	conditions := cluster.Status.Conditions
	return meta.IsStatusConditionTrue(conditions, tenancyv1alpha1.ConditionConnected) &&
		!meta.IsStatusConditionTrue(conditions, tenancyv1alpha1.ConditionIdentityConflict) &&
		minorVersion(cluster.Status.Version) != ""
}
