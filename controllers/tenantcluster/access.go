package tenantcluster

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
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

// nameFor is what people in a namespace call a Secret. A Secret of another namespace is named with its namespace.
func nameFor(namespace string, secret types.NamespacedName) string {
	if secret.Namespace == namespace || secret.Namespace == "" {
		return secret.Name
	}
	return secret.String()
}

// secretFor names the Secret to people who look from a TenantCluster.
func (c credentials) secretFor(cluster types.NamespacedName) string {
	return nameFor(cluster.Namespace, client.ObjectKeyFromObject(c.secret))
}

// secretReference is where a kubeconfig is.
type secretReference struct {
	types.NamespacedName
	key string
	// from is the namespace of the TenantCluster.
	from string
}

// String names the Secret to people who look from the TenantCluster.
func (s secretReference) String() string { return nameFor(s.from, s.NamespacedName) }

// secretOf returns where the kubeconfig is: Cluster API's is beside the Cluster.
func secretOf(cluster *tenancyv1alpha1.TenantCluster, orders topology.Options) secretReference {
	if made := orders.ClusterOf(cluster); made.Name != "" {
		made.Name += clusterapi.SecretSuffix
		return secretReference{made, defaultKey, cluster.Namespace}
	}
	ref := secretReference{types.NamespacedName{Namespace: cluster.Namespace}, defaultKey, cluster.Namespace}
	if given := cluster.Spec.KubeconfigRef; given != nil {
		ref.Name, ref.key = given.Name, cmp.Or(given.Key, defaultKey)
	}
	return ref
}

// secretsOf are the Secrets that a TenantCluster is reached with.
func secretsOf(cluster *tenancyv1alpha1.TenantCluster, orders topology.Options) []types.NamespacedName {
	keys := []types.NamespacedName{secretOf(cluster, orders).NamespacedName}
	if accountOf(cluster) != nil {
		keys = append(keys, types.NamespacedName{Namespace: cluster.Namespace, Name: renewedtoken.SecretOf(cluster.Name)})
	}
	return keys
}

// usedSecrets are all Secrets whose changes concern a TenantCluster.
func usedSecrets(cluster *tenancyv1alpha1.TenantCluster, orders topology.Options) []types.NamespacedName {
	keys := []types.NamespacedName{{Namespace: cluster.Namespace, Name: renewedtoken.SecretOf(cluster.Name)}}
	if from := secretOf(cluster, orders); from.Name != "" {
		keys = append(keys, from.NamespacedName)
	}
	if cluster.Spec.Topology != nil {
		keys = append(keys, types.NamespacedName{Namespace: cluster.Namespace, Name: customerkubeconfig.SecretName(cluster.Name)})
	}
	return keys
}

// findCredentials resolves the reference of a TenantCluster.
func (r *reconciler) findCredentials(ctx context.Context, o observation) (credentials, error) {
	cluster := o.cluster
	if o.home.problem != nil {
		return credentials{problem: o.home.problem}, nil
	}
	if missing := missingCluster(cluster, o.made, o.orders); missing != nil {
		return credentials{problem: missing}, nil
	}
	ref := secretOf(cluster, o.orders)
	secret := secretMetadata()
	err := r.client.Get(ctx, ref.NamespacedName, secret)
	if apierrors.IsNotFound(err) {
		return credentials{problem: missingSecret(cluster, ref)}, nil
	}
	if err != nil {
		return credentials{}, fmt.Errorf("read metadata of Secret %s: %w", ref, err)
	}
	source := sourceOf{ref, secret.ResourceVersion}
	known := r.memory.Of(client.ObjectKeyFromObject(cluster))
	if known.source == source {
		found := known.found
		found.secret = secret
		return found, nil
	}
	return r.readCredentials(ctx, known, ref, secret)
}

// readCredentials reads and checks the Secret's content, and remembers what came of it.
func (r *reconciler) readCredentials(ctx context.Context, known *known, ref secretReference, metadata *metav1.PartialObjectMetadata) (credentials, error) {
	secret := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(metadata), secret)
	if apierrors.IsNotFound(err) {
		return credentials{problem: secretNotFound(ref)}, nil
	}
	if err != nil {
		return credentials{}, fmt.Errorf("read Secret %s: %w", ref, err)
	}
	found := credentials{secret: metadata}
	if content, ok := secret.Data[ref.key]; ok {
		found.own, found.problem = parse(content, ref, r.options.Kubeconfig)
		found.access = found.own
	} else {
		found.problem = &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %s has no key %q: put the kubeconfig under that key, or name another one in spec.kubeconfigRef.key", ref, ref.key)}
	}
	known.source, known.found = sourceOf{ref, secret.ResourceVersion}, found
	return found, nil
}

func parse(content []byte, ref secretReference, options kubeconfig.Options) (kubeconfig.Access, *problem) {
	access, err := kubeconfig.Parse(content, options)
	if err != nil {
		return kubeconfig.Access{}, &problem{tenancyv1alpha1.ReasonKubeconfigRefused,
			fmt.Sprintf("Secret %s, key %q: %s", ref, ref.key, err)}
	}
	return access, nil
}

// missingSecret says why there is none. Where Daytwo ordered the cluster nobody has to create it.
func missingSecret(cluster *tenancyv1alpha1.TenantCluster, ref secretReference) *problem {
	switch {
	case cluster.Spec.Topology == nil:
		return secretNotFound(ref)
	case !cluster.DeletionTimestamp.IsZero() && cluster.Status.ClusterID != "":
		return &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
			"Secret %s, with which the cluster was reached, is gone, and so there is no way into it", ref)}
	}
	return &problem{tenancyv1alpha1.ReasonProvisioning, fmt.Sprintf("Cluster API has not written Secret %s yet", ref)}
}

func secretNotFound(ref secretReference) *problem {
	return &problem{tenancyv1alpha1.ReasonSecretNotFound, fmt.Sprintf(
		"Secret %s does not exist in this namespace: create it with a kubeconfig under the key %q", ref, ref.key)}
}

// missingCluster says why the Cluster API Cluster cannot be used. One that somebody else made is not even
// connected to. While the TenantCluster is deleted the Secret alone counts: the Cluster may be gone before the
// targets are.
func missingCluster(cluster *tenancyv1alpha1.TenantCluster, made clusterAPICluster, orders topology.Options) *problem {
	name := orders.ClusterOf(cluster).Name
	if cluster.Spec.Topology != nil && made.live != nil && !topology.IsOurs(made.live, orders.Installation) {
		return nameConflict(made.live)
	}
	if name == "" || !cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	switch ordered := cluster.Spec.Topology != nil; {
	case made.presence == optionalkind.NotInstalled:
		return &problem{tenancyv1alpha1.ReasonClusterAPIMissing, fmt.Sprintf(
			"spec.%s needs Cluster API (%s), which is not installed in the management cluster: install it, or use spec.kubeconfigRef",
			modeOf(cluster), clusterapi.Kind.GroupVersion())}
	case made.presence == optionalkind.Absent && ordered:
		return &problem{tenancyv1alpha1.ReasonProvisioning, "The cluster is being ordered from Cluster API."}
	case made.presence == optionalkind.Absent:
		return &problem{tenancyv1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"Cluster %s (%s) does not exist in this namespace: create it, or correct spec.clusterRef.name", name, clusterapi.Kind.GroupVersion())}
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
