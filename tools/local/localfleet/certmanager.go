package localfleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// CertManagerNamespace is where the Secrets of ClusterIssuers are.
const CertManagerNamespace = "cert-manager"

// bringUpCertManager installs cert-manager's definitions, and starts it unless it runs.
func (f *Fleet) bringUpCertManager(ctx context.Context) error {
	start := time.Now()
	if f.certManagerState() == nil {
		if err := f.claimCertManager(ctx); err != nil {
			return err
		}
	}
	if err := f.installCertManager(ctx); err != nil {
		return fmt.Errorf("install cert-manager: %w", err)
	}
	if err := f.StartCertManager(ctx); err != nil {
		return err
	}
	f.progressf("cert-manager: ready after %.1fs", time.Since(start).Seconds())
	return nil
}

// StartCertManager starts cert-manager unless it runs, and waits until its caches are filled. It must have been installed by
// Options.CertManager.
func (f *Fleet) StartCertManager(ctx context.Context) error {
	claimed := f.certManagerState()
	if claimed == nil {
		return errors.New("there is no cert-manager: start the fleet with it first")
	}
	return f.runUntilReady(ctx, program{
		name:   certManagerName,
		binary: certManagerName,
		args: []string{
			"--kubeconfig=" + f.certManagerKubeconfig(),
			"--cluster-resource-namespace=" + CertManagerNamespace,
			fmt.Sprintf("--health-addr=127.0.0.1:%d", claimed.HealthPort),
		},
		ports: []int{claimed.HealthPort},
	}, claimed.HealthPort)
}

// KillCertManager ends cert-manager without a warning (SIGKILL) and waits until it is gone. What it issued stays.
func (f *Fleet) KillCertManager(ctx context.Context) error { return f.kill(ctx, certManagerName) }

// claimCertManager claims a port, and makes what cert-manager is known by to the management cluster.
func (f *Fleet) claimCertManager(ctx context.Context) error {
	claimed := &certManagerState{}
	if err := f.claimPorts(ctx, &claimed.HealthPort); err != nil {
		return err
	}
	kubeconfig, err := f.Management().KubeconfigFor("system:"+certManagerName, []string{mastersGroup}, credentialsLifetime)
	if err != nil {
		return err
	}
	if err := writeFile(f.certManagerKubeconfig(), kubeconfig); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.CertManager = claimed
	return writeState(f.paths, f.state)
}

func (f *Fleet) installCertManager(ctx context.Context) error {
	dir, err := f.components.Files(ctx, component.CertManagerCRDs)
	if err != nil {
		return err
	}
	definitions, err := manifests.Load(dir)
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(CertManagerNamespace)
	return manifests.Apply(ctx, f.Management().Config(), append(definitions, namespace))
}

func (f *Fleet) certManagerKubeconfig() string {
	return filepath.Join(f.paths.pki(certManagerName), programKubeconfigFile(certManagerName))
}

func (f *Fleet) certManagerState() *certManagerState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.CertManager
}
