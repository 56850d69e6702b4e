package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const ownLabelDomain = "daytwo.dev/"

// derivedCluster is what of a TenantCluster costs something to find out.
type derivedCluster struct {
	parameters metav1alpha1.ClusterParameters
	// comparable is the parameters in a form that can be compared.
	comparable string
	connected  bool
}

func derive(cluster *tenancyv1alpha1.TenantCluster) derivedCluster {
	parameters := parametersOf(cluster)
	return derivedCluster{parameters: parameters, comparable: comparableParameters(parameters), connected: isConnected(cluster)}
}

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

// parameterCache remembers what was derived from objects, by their versions, so that an event of one target costs no
// encoding of the parameters of all. An object that is gone is forgotten at its last event.
type parameterCache struct {
	clusters versioned[derivedCluster]
	targets  versioned[string]
}

func (c *parameterCache) ofCluster(cluster *tenancyv1alpha1.TenantCluster) derivedCluster {
	return c.clusters.of(cluster.UID, cluster.ResourceVersion, func() derivedCluster { return derive(cluster) })
}

// ofTarget takes the generation for a version: the parameters are in the spec.
func (c *parameterCache) ofTarget(target Target) string {
	return c.targets.of(target.GetUID(), fmt.Sprint(target.GetGeneration()), func() string {
		return comparableParameters(target.GetTargetSpec().Cluster)
	})
}

// versioned remembers a value for each object, as long as its version is the same.
type versioned[V any] struct {
	mutex sync.Mutex
	known map[types.UID]versionedValue[V]
}

type versionedValue[V any] struct {
	version string
	value   V
}

func (v *versioned[V]) of(uid types.UID, version string, compute func() V) V {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if known, ok := v.known[uid]; ok && known.version == version && uid != "" && version != "" {
		return known.value
	}
	if v.known == nil {
		v.known = map[types.UID]versionedValue[V]{}
	}
	value := compute()
	v.known[uid] = versionedValue[V]{version, value}
	return value
}

func (v *versioned[V]) forget(uid types.UID) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	delete(v.known, uid)
}
