package environment

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Workload returns an administrator's client of a workload cluster. It is made once a cluster, so
// that what it learned of the cluster's kinds is kept.
func (e *Environment) Workload(name string) (client.WithWatch, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, ok := e.workloads[name]; ok {
		return known, nil
	}
	cluster, err := e.Fleet.Cluster(name)
	if err != nil {
		return nil, err
	}
	made, err := newClient(cluster)
	if err != nil {
		return nil, err
	}
	e.workloads[name] = made
	return made, nil
}

func newClient(cluster *localfleet.Cluster) (client.WithWatch, error) {
	scheme := apis.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	made, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of cluster %s: %w", cluster.Name(), err)
	}
	return made, nil
}
