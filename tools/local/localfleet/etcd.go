package localfleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/daytwo-dev/daytwo/tools/local/internal/pki"
)

const (
	etcdServerName = "server"
	etcdClientName = "client"
)

func etcdPrefix(cluster string) string { return "/" + cluster }

// etcdServer is an etcd of the fleet: the one that clusters share, or a cluster's own. All of them have the same
// certificates, since one fleet is one trust.
type etcdServer struct {
	program string
	dataDir string
	ports   etcdState
}

func (e etcdServer) url() string { return loopbackURL(e.ports.ClientPort) }

// httpURL is where the JSON gateway is, which has a port of its own: where one port serves HTTP and gRPC, each request
// of an API server goes through Go's HTTP server too, which takes etcd a fifth more of a processor.
func (e etcdServer) httpURL() string {
	if e.ports.HTTPPort == 0 {
		return e.url()
	}
	return loopbackURL(e.ports.HTTPPort)
}

func (f *Fleet) sharedEtcd() etcdServer {
	return etcdServer{program: etcdName, dataDir: f.paths.etcd(), ports: f.etcdPorts()}
}

// etcd is where the cluster's data is.
func (c *Cluster) etcd() etcdServer {
	if !c.options.OwnEtcd {
		return c.fleet.sharedEtcd()
	}
	return etcdServer{program: c.program(etcdName), dataDir: c.fleet.paths.etcdOf(c.name), ports: c.etcdPorts}
}

// startEtcd makes sure that etcd runs and answers. Both sides show certificates
// of an authority that only this fleet has, so nothing is ever written to an
// etcd that isn't its own, and nobody else writes to this one.
func (f *Fleet) startEtcd(ctx context.Context, server etcdServer) error {
	if f.usesEtcdOfAnother() {
		return f.etcdAnswers(ctx, server)
	}
	f.etcdMu.Lock()
	defer f.etcdMu.Unlock()
	if err := f.createEtcdCredentials(); err != nil {
		return fmt.Errorf("create credentials of etcd: %w", err)
	}
	client, err := f.etcdClient(server)
	if err != nil {
		return err
	}
	defer client.close()
	p, err := f.ensure(ctx, program{name: server.program, binary: "etcd", args: f.etcdArgs(server), ports: server.ports.all()})
	if err != nil {
		return err
	}
	return waitReady(ctx, client.ready, p)
}

// usesEtcdOfAnother tells whether another fleet starts etcd.
func (f *Fleet) usesEtcdOfAnother() bool { return f.paths.host != "" }

func (f *Fleet) etcdAnswers(ctx context.Context, server etcdServer) error {
	client, err := f.etcdClient(server)
	if err != nil {
		return err
	}
	defer client.close()
	if err := client.ready(ctx); err != nil {
		return fmt.Errorf("%w: bring the fleet up again", err)
	}
	return nil
}

func (f *Fleet) etcdArgs(server etcdServer) []string {
	file := func(name string) string { return filepath.Join(f.paths.pki(etcdName), name) }
	client, peer := server.url(), loopbackURL(server.ports.PeerPort)
	args := []string{
		"--name=local",
		"--data-dir=" + server.dataDir,
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		"--cert-file=" + file(certificateFile(etcdServerName)),
		"--key-file=" + file(keyFile(etcdServerName)),
		"--trusted-ca-file=" + file(certificateFile(authorityName)),
		"--client-cert-auth",
		"--peer-cert-file=" + file(certificateFile(etcdServerName)),
		"--peer-key-file=" + file(keyFile(etcdServerName)),
		"--peer-trusted-ca-file=" + file(certificateFile(authorityName)),
		"--peer-client-cert-auth",
		// A fleet need not survive a power failure.
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
	if server.ports.HTTPPort != 0 {
		args = append(args, "--listen-client-http-urls="+server.httpURL())
	}
	return args
}

func (f *Fleet) createEtcdCredentials() error {
	dir := f.paths.pki(etcdName)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	authority, err := pki.NewAuthority(etcdName)
	if err != nil {
		return err
	}
	server, err := authority.IssueServing(nil)
	if err != nil {
		return err
	}
	client, err := authority.IssueClient(apiServer, nil, credentialsLifetime)
	if err != nil {
		return err
	}
	temporary := dir + ".new"
	pairs := map[string]pki.KeyPair{authorityName: authority.KeyPair, etcdServerName: server, etcdClientName: client}
	for name, pair := range pairs {
		if err := writePair(temporary, name, pair); err != nil {
			return err
		}
	}
	return os.Rename(temporary, dir)
}
