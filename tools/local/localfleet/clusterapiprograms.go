package localfleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Programs of Cluster API, by the name of their binary.
const (
	clusterAPIManager = "cluster-api"
	localProvider     = "local-provider"
)

// clusterAPIProgram listens for its webhooks on all addresses: it has no flag for
// that.
func (f *Fleet) clusterAPIProgram(ports clusterAPIState) program {
	dir := f.paths.pki(clusterAPIName)
	return program{
		name:   clusterAPIName,
		binary: clusterAPIManager,
		args: []string{
			"--kubeconfig=" + filepath.Join(dir, programKubeconfigFile(clusterAPIName)),
			"--webhook-cert-dir=" + dir,
			fmt.Sprintf("--webhook-port=%d", ports.WebhookPort),
			fmt.Sprintf("--health-addr=127.0.0.1:%d", ports.HealthPort),
			fmt.Sprintf("--diagnostics-address=127.0.0.1:%d", ports.DiagnosticsPort),
			"--insecure-diagnostics=true",
			"--feature-gates=ClusterTopology=true",
		},
		ports: ports.manager(),
	}
}

func (f *Fleet) providerProgram() (program, error) {
	source, err := f.components.Source()
	if err != nil {
		return program{}, err
	}
	kubeconfig := filepath.Join(f.paths.pki(clusterAPIName), programKubeconfigFile(providerName))
	return program{
		name:   providerName,
		binary: localProvider,
		args:   []string{"--state-dir=" + f.paths.root, "--components-dir=" + source, "--kubeconfig=" + kubeconfig},
	}, nil
}

func (f *Fleet) claimClusterAPIPorts(ctx context.Context) (clusterAPIState, error) {
	f.mu.Lock()
	claimed := f.state.ClusterAPI
	f.mu.Unlock()
	if claimed != nil {
		return *claimed, nil
	}
	claimed = &clusterAPIState{}
	err := f.claimPorts(ctx,
		&claimed.HealthPort, &claimed.WebhookPort, &claimed.DiagnosticsPort, &claimed.ProviderHealthPort)
	if err != nil {
		return clusterAPIState{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.ClusterAPI = claimed
	return *claimed, writeState(f.paths, f.state)
}

// createClusterAPICredentials makes what the webhooks are known by, and what the
// two programs are known by to the management cluster, once.
func (f *Fleet) createClusterAPICredentials() error {
	dir := f.paths.pki(clusterAPIName)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	files, err := serverCredentials(clusterAPIName)
	if err != nil {
		return err
	}
	for _, name := range []string{clusterAPIName, providerName} {
		kubeconfig, err := f.Management().KubeconfigFor("system:"+name, []string{mastersGroup}, credentialsLifetime)
		if err != nil {
			return err
		}
		files[programKubeconfigFile(name)] = kubeconfig
	}
	return writeDir(dir, files)
}
