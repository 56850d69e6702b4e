package tenantcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis/common"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

// defaultKey is where Cluster API's Secrets hold the kubeconfig.
const defaultKey = "value"

// problem is why there is no kubeconfig to connect with.
type problem struct {
	reason  string
	message string
}

// credentials are what a TenantCluster is reached with.
type credentials struct {
	// secret that they come from; nil if it does not exist.
	secret *metav1.PartialObjectMetadata
	access kubeconfig.Access
	// problem is nil if access may be used.
	problem *problem
	// unsettled is an error beside the problem: the next try may see more.
	unsettled error
}

// secretOf returns where the kubeconfig is.
func secretOf(spec tenancyv1alpha1.TenantClusterSpec) common.SecretKeyReference {
	if ref := spec.ClusterRef; ref != nil {
		return common.SecretKeyReference{Name: ref.Name + secretSuffix, Key: defaultKey}
	}
	ref := common.SecretKeyReference{}
	if spec.KubeconfigRef != nil {
		ref = *spec.KubeconfigRef
	}
	if ref.Key == "" {
		ref.Key = defaultKey
	}
	return ref
}

// findCredentials resolves the reference of a TenantCluster.
func (r *reconciler) findCredentials(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (credentials, error) {
	missing, err := r.missingCluster(ctx, cluster)
	if missing != nil {
		return credentials{problem: missing, unsettled: err}, nil
	}
	if err != nil {
		return credentials{}, err
	}
	ref := secretOf(cluster.Spec)
	secret := secretMetadata()
	err = r.client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		return credentials{problem: secretNotFound(ref)}, nil
	}
	if err != nil {
		return credentials{}, fmt.Errorf("read metadata of Secret %s: %w", ref.Name, err)
	}
	source := sourceOf{ref, secret.ResourceVersion}
	key := client.ObjectKeyFromObject(cluster)
	if found, ok := r.memory.recall(key, source); ok {
		found.secret = secret
		return found, nil
	}
	return r.readCredentials(ctx, key, ref, secret)
}

// readCredentials reads and checks the Secret's content, and remembers what came of it.
func (r *reconciler) readCredentials(ctx context.Context, cluster types.NamespacedName, ref common.SecretKeyReference, metadata *metav1.PartialObjectMetadata) (credentials, error) {
	secret := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(metadata), secret)
	if apierrors.IsNotFound(err) {
		return credentials{problem: secretNotFound(ref)}, nil
	}
	if err != nil {
		return credentials{}, fmt.Errorf("read Secret %s: %w", ref.Name, err)
	}
	found := credentials{secret: metadata}
	if content, ok := secret.Data[ref.Key]; ok {
		found.access, found.problem = parse(content, ref, r.options.Kubeconfig)
	} else {
		found.problem = &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %s has no key %q: put the kubeconfig under that key, or name another one in spec.kubeconfigRef.key", ref.Name, ref.Key)}
	}
	r.memory.remember(cluster, sourceOf{ref, secret.ResourceVersion}, found)
	return found, nil
}

func parse(content []byte, ref common.SecretKeyReference, options kubeconfig.Options) (kubeconfig.Access, *problem) {
	access, err := kubeconfig.Parse(content, options)
	if err != nil {
		return kubeconfig.Access{}, &problem{tenancyv1alpha1.ReasonKubeconfigRefused,
			fmt.Sprintf("Secret %s, key %q: %s", ref.Name, ref.Key, err)}
	}
	return access, nil
}

func secretNotFound(ref common.SecretKeyReference) *problem {
	return &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
		"Secret %s does not exist in this namespace: create it with a kubeconfig under the key %q", ref.Name, ref.Key)}
}

// missingCluster says why the Cluster of spec.clusterRef cannot be used. While the TenantCluster is
// deleted the Secret alone counts: the Cluster may be gone before the targets are. An error beside a
// problem says that Cluster API does not serve the version that is needed, or not yet.
func (r *reconciler) missingCluster(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster) (*problem, error) {
	ref := cluster.Spec.ClusterRef
	if ref == nil || !cluster.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	found, err := r.clusterAPI.look(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: ref.Name}, r.toUsersOfCluster)
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	switch found {
	case notInstalled:
		return &problem{tenancyv1alpha1.ReasonClusterAPIMissing, fmt.Sprintf(
			"spec.clusterRef needs Cluster API (%s), which is not installed in the management cluster: install it, or use spec.kubeconfigRef",
			clusterKind.GroupVersion())}, err
	case absent:
		return &problem{tenancyv1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"Cluster %s (%s) does not exist in this namespace: create it, or correct spec.clusterRef.name", ref.Name, clusterKind.GroupVersion())}, nil
	}
	return nil, nil
}
