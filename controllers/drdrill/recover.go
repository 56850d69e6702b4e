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

// restoresCluster is whether a drill brings back what belongs to no namespace: a recovery does, and a rehearsal in a cluster of
// its own, unless they name the namespaces that they restore.
func restoresCluster(drill *backupv1alpha1.DRDrill) bool {
	return (recovers(drill) || isEphemeral(drill)) && len(drill.Spec.Namespaces.Include) == 0
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

// isExpected is whether an object without a namespace is to be there after the restore. Volumes are made anew by their claims,
// and the namespaces of a rehearsal are its own.
func (c *comparison) isExpected(archived recovery.Item, object *unstructured.Unstructured) bool {
	switch {
	case !restoresCluster(c.drill) || recovery.IsBuiltIn(archived, object) || archived.Resource.String() == "persistentvolumes":
		return false
	case archived.Resource.String() == "namespaces":
		return recovers(c.drill) && c.mapping[archived.Name] != ""
	}
	return true
}

// wasThere is whether an object was in the cluster before the restore, which changes none of those. Velero labels what it
// restores. The namespaces of other rehearsals had nothing.
func wasThere(drill *backupv1alpha1.DRDrill, object *unstructured.Unstructured) bool {
	return (recovers(drill) || isEphemeral(drill)) && object.GetLabels()[velerov1.RestoreNameLabel] != nameOf(drill, actionRestore)
}
