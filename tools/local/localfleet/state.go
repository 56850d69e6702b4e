package localfleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	managementName = "management"
	etcdName       = "etcd"
	managerName    = "manager"
	replicaName    = "manager-replica"
	clusterAPIName = "cluster-api"
	providerName   = "provider"
	storageName    = "storage"
	// certManagerName is also that of the binary.
	certManagerName = "cert-manager"
)

// state is what fleet.json holds: everything that must be the same when a
// program of the fleet is started again.
type state struct {
	Detached bool           `json:"detached"`
	Etcd     etcdState      `json:"etcd"`
	Clusters []clusterState `json:"clusters"`
	Manager  *managerState  `json:"manager,omitempty"`
	// ClusterAPI is set once Cluster API was installed.
	ClusterAPI *clusterAPIState `json:"clusterAPI,omitempty"`
	// Storage is set once the fleet was to run Velero.
	Storage *storageState `json:"storage,omitempty"`
	// CertManager is set once cert-manager was installed.
	CertManager *certManagerState `json:"certManager,omitempty"`
}

type etcdState struct {
	ClientPort int `json:"clientPort"`
	PeerPort   int `json:"peerPort"`
	// HTTPPort is 0 in a fleet of an earlier version of this program, whose etcd serves everything at the ClientPort.
	HTTPPort int `json:"httpPort,omitzero"`
}

// all returns no port before there are any.
func (e etcdState) all() []int {
	if e == (etcdState{}) {
		return nil
	}
	if e.HTTPPort == 0 {
		return []int{e.ClientPort, e.PeerPort}
	}
	return []int{e.ClientPort, e.PeerPort, e.HTTPPort}
}

type clusterState struct {
	Name string `json:"name"`
	Port int    `json:"port"`
	// Etcd is the cluster's own, if it has one.
	Etcd etcdState `json:"etcd,omitzero"`
	ClusterOptions
}

// ports returns all ports of the cluster.
func (c clusterState) ports() []int { return append(c.Etcd.all(), c.Port) }

// companions are the programs beside the cluster's API server.
func (c clusterState) companions() []string {
	switch {
	case c.Bare:
		return nil
	case c.Name == managementName:
		return []string{controllers}
	case c.Velero:
		return []string{controllers, scheduler, kwok, velero}
	}
	return []string{controllers, scheduler, kwok}
}

type managerState struct {
	HealthPort   int `json:"healthPort"`
	MetricsPort  int `json:"metricsPort"`
	ProfilesPort int `json:"profilesPort"`
	WebhookPort  int `json:"webhookPort"`
	// Binary and Args are what the manager was started with last; "" before it was.
	Binary string   `json:"binary,omitempty"`
	Args   []string `json:"args,omitempty"`
}

func (m managerState) all() []int {
	return []int{m.HealthPort, m.MetricsPort, m.ProfilesPort, m.WebhookPort}
}

type clusterAPIState struct {
	HealthPort         int `json:"healthPort"`
	WebhookPort        int `json:"webhookPort"`
	DiagnosticsPort    int `json:"diagnosticsPort"`
	ProviderHealthPort int `json:"providerHealthPort"`
}

func (c clusterAPIState) manager() []int {
	return []int{c.HealthPort, c.WebhookPort, c.DiagnosticsPort}
}

func (c clusterAPIState) all() []int { return append(c.manager(), c.ProviderHealthPort) }

type certManagerState struct {
	HealthPort int `json:"healthPort"`
}

// storageState also has the keys of the account that may do everything.
type storageState struct {
	Port      int    `json:"port"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
}

// ports returns all ports that the fleet has claimed.
func (s state) ports() []int {
	all := s.Etcd.all()
	for _, cluster := range s.Clusters {
		all = append(all, cluster.ports()...)
	}
	if s.Manager != nil {
		all = append(all, s.Manager.all()...)
	}
	if s.ClusterAPI != nil {
		all = append(all, s.ClusterAPI.all()...)
	}
	if s.Storage != nil {
		all = append(all, s.Storage.Port)
	}
	if s.CertManager != nil {
		all = append(all, s.CertManager.HealthPort)
	}
	return all
}

// paths names the files of a state directory, whose layout doc.go describes.
type paths struct {
	root string
	// host is the state directory of the fleet whose etcd is used and among whose
	// logs these are, if that is another one.
	host string
}

// ordered names the files of the clusters that were ordered through Cluster API.
func (p paths) ordered() paths {
	return paths{root: filepath.Join(p.root, "ordered"), host: p.root}
}

// withEtcd is the state directory of the fleet whose etcd is used.
func (p paths) withEtcd() paths { return paths{root: cmp.Or(p.host, p.root)} }

func (p paths) state() string             { return filepath.Join(p.root, "fleet.json") }
func (p paths) lock() string              { return filepath.Join(p.root, "lock") }
func (p paths) records() string           { return filepath.Join(p.root, "run") }
func (p paths) logs() string              { return filepath.Join(p.withEtcd().root, "logs") }
func (p paths) log(program string) string { return filepath.Join(p.logs(), program+".log") }
func (p paths) etcd() string              { return filepath.Join(p.root, "etcd") }
func (p paths) etcdOf(cluster string) string {
	return filepath.Join(p.root, "own-etcd", cluster)
}
func (p paths) snapshots(cluster string) string {
	return filepath.Join(p.root, "snapshots", cluster)
}
func (p paths) etcdPKI() string            { return p.withEtcd().pki(etcdName) }
func (p paths) pki(cluster string) string  { return filepath.Join(p.root, "pki", cluster) }
func (p paths) kwok(cluster string) string { return filepath.Join(p.root, "kwok", cluster) }

// velero has the name of a cluster cut if that is long: the sockets of Velero's plugins are below.
func (p paths) velero(cluster string) string {
	const most = 20
	if len(cluster) > most {
		sum := sha256.Sum256([]byte(cluster))
		cluster = cluster[:most-9] + "-" + hex.EncodeToString(sum[:4])
	}
	return filepath.Join(p.root, "velero", cluster)
}

func (p paths) storage() string           { return filepath.Join(p.root, "storage") }
func (p paths) buckets() string           { return filepath.Join(p.storage(), "buckets") }
func (p paths) objectVersions() string    { return filepath.Join(p.storage(), "versions") }
func (p paths) accounts() string          { return filepath.Join(p.storage(), "accounts") }
func (p paths) managerKubeconfig() string { return filepath.Join(p.root, "manager.kubeconfig") }

func (p paths) kubeconfig(cluster string) string {
	if cluster == managementName {
		return filepath.Join(p.root, "management.kubeconfig")
	}
	return filepath.Join(p.root, "clusters", cluster+".kubeconfig")
}

// readState returns an error that matches fs.ErrNotExist if there is no fleet.
func readState(p paths) (state, error) {
	var s state
	content, err := os.ReadFile(p.state())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(content, &s); err != nil {
		return s, fmt.Errorf("%s is damaged; run down, then up: %w", p.state(), err)
	}
	return s, nil
}

func writeState(p paths, s state) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(p.state(), content)
}

// writeFile writes a private file as a whole or not at all.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// clear removes what a fleet left in its directory, except logs and the lock.
func (p paths) clear() error {
	entries, err := os.ReadDir(p.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(p.root, entry.Name())
		if path == p.logs() || path == p.lock() {
			continue
		}
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
