package admission_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

const (
	// holdingClusters is a namespace with Clusters of Cluster API.
	holdingClusters = "holding-clusters"
	// clusterAPI is the service account of its core manager.
	clusterAPI = "system:serviceaccount:capi-system:capi-manager"
)

func secretIn(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"value": []byte("theirs")}}
}

func providedKubeconfig(name string) *corev1.Secret {
	secret := secretIn(namespace, name)
	secret.Type = tenancyv1alpha1.SecretTypeKubeconfig
	return secret
}

// asClusterAPI makes the request as a member of the group that RBAC knows the namespace of a service account by.
func asClusterAPI(request func(context.Context, client.Client) error) func(context.Context, client.Client) error {
	return func(ctx context.Context, _ client.Client) error {
		impersonating := rest.CopyConfig(config)
		impersonating.Impersonate = rest.ImpersonationConfig{UserName: clusterAPI, Groups: []string{"system:serviceaccounts:capi-system"}}
		direct, err := client.New(impersonating, client.Options{})
		if err != nil {
			return err
		}
		return request(ctx, direct)
	}
}

func TestSecretsThatClusterAPIUsesAreNotWrittenByCustomers(t *testing.T) {
	const refused = "Cluster API would use this Secret"
	const forged, letGo = `{"data":{"value":"b3Vycw=="}}`, `{"metadata":{"finalizers":null}}`
	const labelled = `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"prod"}}}`
	theirs := secretIn(holdingClusters, "legacy-kubeconfig")
	theirs.Finalizers = []string{metav1.FinalizerDeleteDependents}
	theirs = existing(t, theirs)
	plain := existing(t, secretIn(holdingClusters, "plain"))
	typed := secretIn(holdingClusters, "typed")
	typed.Type = "cluster.x-k8s.io/secret"
	marked := secretIn(holdingClusters, "marked")
	marked.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": "prod"}
	attempts := map[string]attempt{
		"by its type":                          {powerful, refused, create(typed)},
		"by its label":                         {powerful, refused, create(marked)},
		"a label is added":                     {powerful, refused, patch(plain, labelled)},
		"one that is there is changed":         {powerful, refused, patch(theirs, forged)},
		"one that is there is deleted":         {powerful, refused, remove(theirs)},
		"another Secret is made":               {powerful, "", create(secretIn(holdingClusters, "kubeconfig-of-mine"))},
		"another Secret is changed":            {powerful, "", patch(plain, forged)},
		"the copy for customers is no such":    {powerful, "", create(secretIn(holdingClusters, "prod-access"))},
		"where there are no Clusters":          {customer, "", create(secretIn(namespace, "prod-kubeconfig"))},
		"the provider writes":                  {provider, "", patch(theirs, forged)},
		"the manager holds one":                {manager, "", patch(theirs, `{"metadata":{"finalizers":["foregroundDeletion","daytwo.dev/access"]}}`)},
		"an administrator writes":              {admin, "", create(typed)},
		"Cluster API creates":                  {clusterAPI, "", asClusterAPI(create(typed))},
		"Cluster API changes":                  {clusterAPI, "", asClusterAPI(patch(theirs, forged))},
		"Cluster API deletes":                  {clusterAPI, "", asClusterAPI(remove(theirs))},
		"the garbage collector lets go of it":  {garbageCollector, "", patch(theirs, letGo)},
		"the garbage collector does not forge": {garbageCollector, refused, patch(theirs, forged)},
		"the garbage collector deletes":        {garbageCollector, "", remove(theirs)},
		"its namespace is deleted":             {namespaceController, "", remove(theirs)},
	}
	for _, end := range []string{"kubeconfig", "ca", "etcd", "proxy", "sa", "apiserver-etcd-client"} {
		attempts["by the end of its name, -"+end] = attempt{powerful, refused, create(secretIn(holdingClusters, "prod-"+end))}
	}
	try(t, attempts)
}

// A customer who may change a namespace cannot remove its protection.
func TestTheLabelsOfNamespacesWithClustersAreTheProviders(t *testing.T) {
	const refused = "labels below provider.daytwo.dev/ are the provider's"
	held := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: holdingClusters}}
	forged := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-clusters", Labels: map[string]string{metav1alpha1.LabelClustersOf: "forged"}}}
	try(t, map[string]attempt{
		"the label is taken off":             {powerful, refused, patch(held, `{"metadata":{"labels":{"`+metav1alpha1.LabelHoldsClusters+`":null}}}`)},
		"a namespace for Clusters is forged": {powerful, refused, create(forged)},
		"the manager makes one":              {manager, "", create(forClusters(namespace + "-clusters"))},
	})
}
