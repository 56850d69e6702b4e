package certificatedelivery

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
)

const (
	trustBundleGroup = "certificates.k8s.io"
	trustBundleKind  = "ClusterTrustBundle"
)

// trustBundleVersions in which API servers have served ClusterTrustBundles, the newest first.
var trustBundleVersions = []string{"v1", "v1beta1"}

func hasTrustBundles(content certificatecontent.Content) bool {
	return content.Trust != nil && slices.ContainsFunc(content.Trust.Targets, func(one certificatesv1alpha1.TrustTarget) bool { return one.Kind == trustBundleKind })
}

// servedTrustBundles is the version in which a cluster serves ClusterTrustBundles; empty if it does not, or nobody asks.
func servedTrustBundles(ctx context.Context, cluster *fleet.Cluster, trust *certificatecontent.Trust) (string, error) {
	if !hasTrustBundles(certificatecontent.Content{Trust: trust}) {
		return "", nil
	}
	for _, version := range trustBundleVersions {
		_, err := cluster.Resource(ctx, schema.GroupVersionKind{Group: trustBundleGroup, Version: version, Kind: trustBundleKind})
		if err == nil {
			return version, nil
		}
		if !meta.IsNoMatchError(err) {
			return "", err
		}
	}
	return "", nil
}
