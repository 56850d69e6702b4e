package tenantcluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
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
	// own is what the kubeconfig says, and access what is used: that, or a token that Daytwo renews in its place.
	own, access kubeconfig.Access
	// problem is nil if access may be used.
	problem *problem
}

// secretOf returns where the kubeconfig is.
func secretOf(cluster *tenancyv1alpha1.TenantCluster) metav1alpha1.SecretKeyReference {
	if name := clusterNameOf(cluster); name != "" {
		return metav1alpha1.SecretKeyReference{Name: name + secretSuffix, Key: defaultKey}
	}
	ref := metav1alpha1.SecretKeyReference{}
	if given := cluster.Spec.KubeconfigRef; given != nil {
		ref.Name, ref.Key = given.Name, given.Key
	}
	if ref.Key == "" {
		ref.Key = defaultKey
	}
	return ref
}

// secretsOf are the names of the Secrets that a TenantCluster is reached with.
func secretsOf(cluster *tenancyv1alpha1.TenantCluster) []string {
	names := []string{secretOf(cluster).Name}
	if accountOf(cluster) != nil {
		names = append(names, tokenSecretOf(cluster.Name))
	}
	return names
}

// clusterNameOf is the name of the Cluster API Cluster of a TenantCluster; empty if it has none.
func clusterNameOf(cluster *tenancyv1alpha1.TenantCluster) string {
	switch spec := cluster.Spec; {
	case spec.ClusterRef != nil:
		return spec.ClusterRef.Name
	case spec.Topology != nil:
		return cluster.Name
	}
	return ""
}

// findCredentials resolves the reference of a TenantCluster.
func (r *reconciler) findCredentials(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, made clusterAPICluster) (credentials, error) {
	if missing := missingCluster(cluster, made, r.options.Installation); missing != nil {
		return credentials{problem: missing}, nil
	}
	ref := secretOf(cluster)
	secret := secretMetadata()
	err := r.client.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		return credentials{problem: missingSecret(cluster, ref)}, nil
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
func (r *reconciler) readCredentials(ctx context.Context, cluster types.NamespacedName, ref metav1alpha1.SecretKeyReference, metadata *metav1.PartialObjectMetadata) (credentials, error) {
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
		found.own, found.problem = parse(content, ref, r.options.Kubeconfig)
		found.access = found.own
	} else {
		found.problem = &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %s has no key %q: put the kubeconfig under that key, or name another one in spec.kubeconfigRef.key", ref.Name, ref.Key)}
	}
	r.memory.remember(cluster, sourceOf{ref, secret.ResourceVersion}, found)
	return found, nil
}

func parse(content []byte, ref metav1alpha1.SecretKeyReference, options kubeconfig.Options) (kubeconfig.Access, *problem) {
	access, err := kubeconfig.Parse(content, options)
	if err != nil {
		return kubeconfig.Access{}, &problem{tenancyv1alpha1.ReasonKubeconfigRefused,
			fmt.Sprintf("Secret %s, key %q: %s", ref.Name, ref.Key, err)}
	}
	return access, nil
}

// missingSecret says why there is none. Where Daytwo ordered the cluster nobody has to create it.
func missingSecret(cluster *tenancyv1alpha1.TenantCluster, ref metav1alpha1.SecretKeyReference) *problem {
	switch {
	case cluster.Spec.Topology == nil:
		return secretNotFound(ref)
	case !cluster.DeletionTimestamp.IsZero() && cluster.Status.ClusterID != "":
		return &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %s, with which the cluster was reached, is gone, and so there is no way into it", ref.Name)}
	}
	return &problem{tenancyv1alpha1.ReasonProvisioning, fmt.Sprintf("Cluster API has not written Secret %s yet", ref.Name)}
}

func secretNotFound(ref metav1alpha1.SecretKeyReference) *problem {
	return &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
		"Secret %s does not exist in this namespace: create it with a kubeconfig under the key %q", ref.Name, ref.Key)}
}

// missingCluster says why the Cluster API Cluster cannot be used. One that somebody else made is not even
// connected to. While the TenantCluster is deleted the Secret alone counts: the Cluster may be gone before the
// targets are.
func missingCluster(cluster *tenancyv1alpha1.TenantCluster, made clusterAPICluster, installation string) *problem {
	name := clusterNameOf(cluster)
	if cluster.Spec.Topology != nil && made.live != nil && !topology.IsOurs(made.live, installation) {
		return nameConflict(made.live)
	}
	if name == "" || !cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	switch ordered := cluster.Spec.Topology != nil; {
	case made.presence == optionalkind.NotInstalled:
		return &problem{tenancyv1alpha1.ReasonClusterAPIMissing, fmt.Sprintf(
			"spec.%s needs Cluster API (%s), which is not installed in the management cluster: install it, or use spec.kubeconfigRef",
			modeOf(cluster), clusterKind.GroupVersion())}
	case made.presence == optionalkind.Absent && ordered:
		return &problem{tenancyv1alpha1.ReasonProvisioning, "The cluster is being ordered from Cluster API."}
	case made.presence == optionalkind.Absent:
		return &problem{tenancyv1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"Cluster %s (%s) does not exist in this namespace: create it, or correct spec.clusterRef.name", name, clusterKind.GroupVersion())}
	}
	return nil
}

// modeOf is the field of the spec that leads to the cluster.
func modeOf(cluster *tenancyv1alpha1.TenantCluster) string {
	switch {
	case cluster.Spec.Topology != nil:
		return "topology"
	case cluster.Spec.ClusterRef != nil:
		return "clusterRef"
	}
	return "kubeconfigRef"
}
