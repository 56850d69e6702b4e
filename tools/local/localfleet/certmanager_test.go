package localfleet_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// authority is a CA that signs itself, and what it issues from.
const authority = `
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: itself}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority, namespace: default}
spec: {isCA: true, commonName: authority, secretName: authority, issuerRef: {kind: ClusterIssuer, name: itself}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority, namespace: default}
spec: {ca: {secretName: authority}}
`

// leaf is what the authority issues a certificate for.
const leaf = `
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: %[1]s, namespace: default}
spec: {dnsNames: [%[1]s.example.com], secretName: %[1]s, issuerRef: {name: authority}}
`

// TestCertManager has a fleet that stays, so that it can be brought up more than once.
func TestCertManager(t *testing.T) {
	t.Parallel()
	options := bare(t.TempDir(), 0)
	options.Detached = true
	t.Cleanup(func() {
		if err := localfleet.Down(context.Background(), options.StateDir); err != nil {
			t.Error(err)
		}
	})
	fleet := bringUp(t, options)
	if err := fleet.StartCertManager(t.Context()); err == nil || !strings.Contains(err.Error(), "start the fleet with it first") {
		t.Errorf("StartCertManager() in a fleet without = %v, want it refused", err)
	}
	letGo(t, fleet)

	options.CertManager = true
	fleet = bringUp(t, options)
	applyTo(t, fleet.Management(), authority+fmt.Sprintf(leaf, "added"))
	expectIssued(t, fleet.Management(), "added")
	pid := runningPIDs(t, options.StateDir)["cert-manager"]

	options.CertManager = false
	t.Run("it is left alone while it runs", func(t *testing.T) {
		letGo(t, fleet)
		fleet = bringUp(t, options)
		if again := runningPIDs(t, options.StateDir)["cert-manager"]; pid == 0 || again != pid {
			t.Errorf("cert-manager was process %d, and is %d after up", pid, again)
		}
	})
	t.Run("killed, it is started again", func(t *testing.T) {
		testCertManagerReturns(t, fleet, "started", func() error { return fleet.StartCertManager(t.Context()) })
	})
	t.Run("killed, it comes back with the fleet", func(t *testing.T) {
		testCertManagerReturns(t, fleet, "repaired", func() error {
			letGo(t, fleet)
			fleet = bringUp(t, options)
			return nil
		})
	})
	t.Run("it ends with the fleet", func(t *testing.T) {
		pid := runningPIDs(t, options.StateDir)["cert-manager"]
		letGo(t, fleet)
		if err := localfleet.Down(t.Context(), options.StateDir); err != nil {
			t.Fatal(err)
		}
		eventually(t, "cert-manager outlives the fleet", func(context.Context) (bool, error) {
			return pid != 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
		})
	})
}

// testCertManagerReturns asks for a certificate while nobody issues one.
func testCertManagerReturns(t *testing.T, fleet *localfleet.Fleet, name string, start func() error) {
	t.Helper()
	if err := fleet.KillCertManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pid, up := runningPIDs(t, fleet.StateDir())["cert-manager"]; up {
		t.Errorf("the killed cert-manager runs as process %d", pid)
	}
	management := fleet.Management()
	applyTo(t, management, fmt.Sprintf(leaf, name))
	if err := start(); err != nil {
		t.Fatal(err)
	}
	expectIssued(t, management, name)
}

// bringUp is up on the command line.
func bringUp(t *testing.T, options localfleet.Options) *localfleet.Fleet {
	t.Helper()
	fleet, err := localfleet.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// letGo leaves a fleet that stays to the next who takes it up.
func letGo(t *testing.T, fleet *localfleet.Fleet) {
	t.Helper()
	if err := fleet.Close(); err != nil {
		t.Fatal(err)
	}
}

// expectIssued waits for a certificate, and verifies what a server would present with what its clients would trust.
func expectIssued(t *testing.T, cluster *localfleet.Cluster, name string) {
	t.Helper()
	expectReady(t, cluster, name)
	secret, err := clientOf(t, cluster).CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		t.Fatalf("ca.crt holds no certificate: %q", secret.Data["ca.crt"])
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name + ".example.com"}); err != nil {
		t.Error(err)
	}
}

func expectReady(t *testing.T, cluster *localfleet.Cluster, certificate string) {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	var conditions []any
	soon(t, func(ctx context.Context) (bool, error) {
		found, err := client.Resource(resource).Namespace("default").Get(ctx, certificate, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, err = unstructured.NestedSlice(found.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(one any) bool {
			condition := one.(map[string]any)
			return condition["type"] == "Ready" && condition["status"] == "True"
		}), err
	}, func() string { return fmt.Sprintf("the Certificate %s is not Ready: %v", certificate, conditions) })
}
