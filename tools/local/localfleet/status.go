package localfleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// ProgramStatus tells about one program of a fleet.
type ProgramStatus struct {
	// Name is that of a cluster for its API server, "etcd", "storage", "manager",
	// "cluster-api", "provider", "cert-manager", or the name of a cluster and a program with a
	// slash between them. An ordered cluster's name is its namespace and its name
	// with an underscore between them.
	Name string
	// Endpoint is the URL where it listens, or ""; that of the manager leads to its metrics.
	Endpoint string
	// Up tells whether it runs. If so, it does as process PID, since Since.
	Up    bool
	PID   int
	Since time.Time
}

// Status lists the programs of the fleet in a state directory, also while
// another program works on it. It returns ErrNoFleet if there is none.
func Status(stateDir string) ([]ProgramStatus, error) {
	root, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, err
	}
	p := paths{root: root}
	s, err := readState(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", root, ErrNoFleet)
	}
	if err != nil {
		return nil, err
	}
	table, err := process.NewTable(p.records(), process.Detached)
	if err != nil {
		return nil, err
	}
	defer table.Close()

	list := []ProgramStatus{programStatus(table, etcdName, etcdName, loopbackURL(s.Etcd.ClientPort))}
	if s.Storage != nil {
		list = append(list, programStatus(table, storageName, storageName, loopbackURL(s.Storage.Port)))
	}
	if s.CertManager != nil {
		list = append(list, programStatus(table, certManagerName, certManagerName, healthURL(s.CertManager.HealthPort)))
	}
	for _, cluster := range s.Clusters {
		list = append(list, clusterStatus(table, cluster)...)
	}
	if s.Manager != nil {
		list = append(list, programStatus(table, managerName, managerName, healthURL(s.Manager.MetricsPort)+"/metrics"))
	}
	if s.ClusterAPI == nil {
		return list, nil
	}
	list = append(list,
		programStatus(table, clusterAPIName, clusterAPIName, healthURL(s.ClusterAPI.HealthPort)),
		programStatus(table, providerName, providerName, healthURL(s.ClusterAPI.ProviderHealthPort)))
	ordered, err := orderedStatus(p.ordered())
	return append(list, ordered...), err
}

func healthURL(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }

func orderedStatus(p paths) ([]ProgramStatus, error) {
	s, err := readState(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // Nothing was ordered yet.
	}
	if err != nil {
		return nil, err
	}
	table, err := process.NewTable(p.records(), process.Detached)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	var list []ProgramStatus
	for _, cluster := range s.Clusters {
		list = append(list, clusterStatus(table, cluster)...)
	}
	return list, nil
}

func clusterStatus(table *process.Table, cluster clusterState) []ProgramStatus {
	list := []ProgramStatus{
		programStatus(table, programName(cluster.Name, apiServer), cluster.Name, loopbackURL(cluster.Port)),
	}
	if cluster.OwnEtcd {
		list = append(list, programStatus(table, programName(cluster.Name, etcdName), cluster.Name+"/"+etcdName, loopbackURL(cluster.Etcd.ClientPort)))
	}
	for _, binary := range cluster.companions() {
		list = append(list, programStatus(table, programName(cluster.Name, binary), cluster.Name+"/"+binary, ""))
	}
	return list
}

func programStatus(table *process.Table, program, name, endpoint string) ProgramStatus {
	status := ProgramStatus{Name: name, Endpoint: endpoint}
	if p, up := table.Lookup(program); up {
		status.Up, status.PID, status.Since = true, p.PID(), p.Started()
	}
	return status
}
