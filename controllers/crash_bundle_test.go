package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// bundleEnv has a real cert-manager in its management cluster, which is not behind the failpoint, and two workload clusters.
type bundleEnv struct {
	*crashEnv
	// clusters by the name of their TenantCluster.
	clusters map[string]client.Client
	// anchors are two authorities in PEM.
	anchors [2]string
	// secrets, requests and certificates of the management cluster: which keys and certificates were ever made, and why.
	secrets, requests, certificates *witness
}

// bundleClusters are the TenantClusters of a bundleEnv, of which unselect leaves the first.
var bundleClusters = []string{"prod", "test"}

// addedName is the DNS name that rename adds.
const addedName = "added.test"

// TestKilledInTheLifeOfABundleItEndsWhereAnUndisturbedRunEnds lets bundles be issued and delivered, renewed, changed in their
// names and in their anchors, lose a cluster, and be deleted, one bundle after the other. In the first, the manager is killed
// after the first write of each of these. No key is made more often than in the undisturbed run. Further bundles lose their
// clusters, or are deleted, between the death of a manager that is about to have something issued and the start of the next one.
func TestKilledInTheLifeOfABundleItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	const sampled = 6 // A phase makes up to 25 writes, and a life takes five seconds.
	w := newBundleEnv(t)
	w.liveAll(t, sampled, w.describe, []lifePhase{
		{"issuance", w.issue, w.isNotDelivered(bundleClusters, 1)},
		{"renewal", w.renew, w.isNotDelivered(bundleClusters, 1)},
		{"names", w.rename, w.isNotDelivered(bundleClusters, 1, addedName)},
		{"anchors", w.addAnchor, w.isNotDelivered(bundleClusters, 2, addedName)},
		{"withdrawal", w.unselect, w.isNotDelivered(bundleClusters[:1], 2, addedName)},
		{"deletion", w.deleteBundle, w.isNotGone},
	})
	for i, pair := range [][2]lifePhase{
		{{"Pending", w.issuePending, w.isNotPending}, {"Withdrawal", w.unselectAll, w.isStillAskedFor}},
		{{"Issuance", w.issue, w.isNotDelivered(bundleClusters, 1)}, {"Deletion", w.deleteBundle, w.isNotGone}},
	} {
		prefix := pair[0].name + "Then" + pair[1].name
		killAfterEach(t, prefix, i, sampled, func(t *testing.T, last int) bool {
			w.t = t
			return w.overtake(fmt.Sprintf("%s-%d", strings.ToLower(prefix), last), last, pair[0], pair[1])
		})
	}
	w.t = t
}

// TestKilledInTheLifeOfTrustAnchorsItEndsWhereAnUndisturbedRunEnds is the life of bundles without certificates.
func TestKilledInTheLifeOfTrustAnchorsItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	const sampled = 3 // The life of bundles with certificates has most of these writes too.
	w := newTrustEnv(t, localfleet.Options{})
	w.liveAll(t, sampled, w.describe, []lifePhase{
		{"distribution", w.distribute, w.isNotDistributed(1)},
		{"anchors", w.addAnchor, w.isNotDistributed(2)},
		{"deletion", w.deleteBundle, w.isNotGone},
	})
}

func newBundleEnv(t *testing.T) *bundleEnv {
	t.Helper()
	w := newTrustEnv(t, localfleet.Options{CertManager: true})
	w.makeIssuer()
	return w
}

// newTrustEnv has two workload clusters, and two authorities to trust.
func newTrustEnv(t *testing.T, options localfleet.Options) *bundleEnv {
	t.Helper()
	options.Clusters, options.ClusterOptions = len(bundleClusters), localfleet.ClusterOptions{Bare: true}
	w := &bundleEnv{crashEnv: newEmptyEnvWith(t, options), clusters: map[string]client.Client{}}
	w.rest = 25 // One second.
	for i := range w.anchors {
		valid := issuancetest.Valid(0, time.Since(issuancetest.Now)+365*24*time.Hour)
		w.anchors[i] = string(issuancetest.Root(t, fmt.Sprintf("authority-%d", i), valid).PEM())
	}
	w.secrets = newWitness(t, w.management, &corev1.SecretList{}, secretKind)
	if options.CertManager {
		requests, certificates := &unstructured.UnstructuredList{}, &unstructured.UnstructuredList{}
		requests.SetGroupVersionKind(certManager("CertificateRequestList"))
		certificates.SetGroupVersionKind(certManager("CertificateList"))
		w.requests = newWitness(t, w.management, requests, nothing)
		w.certificates = newWitness(t, w.management, certificates, issuingOf)
	}
	for i, name := range bundleClusters {
		cluster, err := w.fleet.Cluster(fmt.Sprintf("workload-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		w.clusters[name] = newClient(t, cluster)
		w.registerAs(name, "access-"+name, newProxy(t, cluster.Config(), w.failpoint).kubeconfig(t))
	}
	w.explain = func() string {
		text := "\n  " + w.log.about("certificate")
		for _, seen := range []*witness{w.secrets, w.requests, w.certificates} {
			if seen != nil {
				text += "\n  " + strings.Join(seen.testimony("default", ""), "\n  ")
			}
		}
		return text
	}
	w.start()
	return w
}

func certManager(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: kind}
}

// makeIssuer makes an authority that signs itself, and an Issuer that signs with it, and waits until that does.
func (w *bundleEnv) makeIssuer() {
	w.t.Helper()
	for _, one := range []struct {
		kind, name string
		spec       map[string]any
	}{
		{"Issuer", "selfsigned", map[string]any{"selfSigned": map[string]any{}}},
		{"Certificate", "authority", map[string]any{
			"isCA": true, "commonName": "authority", "secretName": "authority",
			"privateKey": map[string]any{"algorithm": "ECDSA"}, "issuerRef": map[string]any{"name": "selfsigned"},
		}},
		{"Issuer", "issuer", map[string]any{"ca": map[string]any{"secretName": "authority"}}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": one.spec}}
		object.SetGroupVersionKind(certManager(one.kind))
		object.SetNamespace("default")
		object.SetName(one.name)
		if err := w.management.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
		w.await(func() string {
			if err := w.management.Get(context.Background(), client.ObjectKeyFromObject(object), object); err != nil {
				return err.Error()
			}
			return isNotReadyAsAsked(object)
		})
	}
}
