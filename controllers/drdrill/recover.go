package drdrill

import (
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/recovery"
)

// A recovery is a drill for real. It takes the same steps as a rehearsal in a standby, and differs in what this file says: it
// restores everything, into namespaces that Velero makes as they were, and leaves it there. Records of Daytwo and Helm are
// dropped all the same, so that policies adopt what is there.

// maxRecovered is how many namespaces a recovery restores: as many as status.namespaces has room for.
const maxRecovered = 256

// recovers is whether a drill is for real.
func recovers(drill *backupv1alpha1.DRDrill) bool {
	return drill.Spec.Mode == backupv1alpha1.ModeRecover
}

// recoversAll is whether a drill brings back a cluster with all it had, and not some namespaces of it.
func recoversAll(drill *backupv1alpha1.DRDrill) bool {
	return recovers(drill) && len(drill.Spec.Namespaces.Include) == 0
}

// exposed are what a drill restores of what acts on the world outside: for real, that is all.
func exposed(drill *backupv1alpha1.DRDrill) []backupv1alpha1.DrillExposure {
	if !recovers(drill) {
		return drill.Spec.AlsoRestore
	}
	return []backupv1alpha1.DrillExposure{
		backupv1alpha1.ExposeIngresses, backupv1alpha1.ExposeLoadBalancers, backupv1alpha1.ExposeCronJobs, backupv1alpha1.ExposeNetworkPolicies,
		backupv1alpha1.ExposeDNS, backupv1alpha1.ExposeCertificates, backupv1alpha1.ExposeGitOps, backupv1alpha1.ExposeInfrastructure,
	}
}

// isOfTheCluster is whether a namespace belongs to a cluster itself. Another cluster has its own.
func isOfTheCluster(namespace string) bool {
	return slices.Contains([]string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}, namespace)
}

// isRecovered is whether a recovery of a whole cluster brings back an object without a namespace. Volumes are made anew by
// their claims.
func (c *comparison) isRecovered(archived recovery.Item, object *unstructured.Unstructured) bool {
	switch {
	case !recoversAll(c.drill) || recovery.IsBuiltIn(archived, object) || archived.Resource.String() == "persistentvolumes":
		return false
	case archived.Resource.String() == "namespaces":
		return c.mapping[archived.Name] != ""
	}
	return true
}

// wasThere is whether an object was in the cluster before the recovery, which changes none of those. Velero labels what it
// restores.
func wasThere(drill *backupv1alpha1.DRDrill, object *unstructured.Unstructured) bool {
	return recovers(drill) && object.GetLabels()[velerov1.RestoreNameLabel] != nameOf(drill, actionRestore)
}
