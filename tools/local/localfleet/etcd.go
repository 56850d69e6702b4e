package localfleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/pki"
)

const (
	etcdServerName = "server"
	etcdClientName = "client"
	etcdTimeout    = 10 * time.Second
)

func etcdPrefix(cluster string) string { return "/" + cluster }

// startEtcd makes sure that etcd runs and answers. Both sides show certificates
// of an authority that only this fleet has, so nothing is ever written to an
// etcd that isn't its own, and nobody else writes to this one.
func (f *Fleet) startEtcd(ctx context.Context) error {
	if err := f.createEtcdCredentials(); err != nil {
		return fmt.Errorf("create credentials of etcd: %w", err)
	}
	client, err := f.etcdClient()
	if err != nil {
		return err
	}
	defer client.close()
	p, running := f.processes.Lookup(etcdName)
	if !running {
		p, err = f.start(ctx, program{name: etcdName, binary: "etcd", args: f.etcdArgs(), ports: f.etcdPorts().all()})
		if err != nil {
			return err
		}
	}
	return waitReady(ctx, client.ready, p)
}

func (f *Fleet) etcdArgs() []string {
	file := func(name string) string { return filepath.Join(f.paths.pki(etcdName), name) }
	client, peer := loopbackURL(f.etcdPorts().ClientPort), loopbackURL(f.etcdPorts().PeerPort)
	return []string{
		"--name=local",
		"--data-dir=" + f.paths.etcd(),
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

// etcdClient speaks to etcd through its JSON gateway, which spares the fleet
// etcd's client library for the few requests it needs.
type etcdClient struct {
	url  string
	http *http.Client
}

func (f *Fleet) etcdClient() (*etcdClient, error) {
	pair, err := readPair(f.paths.pki(etcdName), etcdClientName)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, err
	}
	authority, err := readPair(f.paths.pki(etcdName), authorityName)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate},
		RootCAs:      roots,
		MinVersion:   tls.VersionTLS12,
	}}
	return &etcdClient{
		url:  loopbackURL(f.etcdPorts().ClientPort),
		http: &http.Client{Transport: transport, Timeout: etcdTimeout},
	}, nil
}

func (e *etcdClient) close() {
	e.http.CloseIdleConnections()
}

func (e *etcdClient) ready(ctx context.Context) error {
	return e.do(ctx, http.MethodGet, "/readyz", nil, nil)
}

// etcdRange names the keys from Key up to, and without, RangeEnd.
type etcdRange struct {
	Key      []byte `json:"key"`
	RangeEnd []byte `json:"range_end,omitempty"`
}

// deletePrefix removes all keys of a cluster.
func (e *etcdClient) deletePrefix(ctx context.Context, prefix string) error {
	// '0' follows '/', so this is everything below prefix/.
	return e.do(ctx, http.MethodPost, "/v3/kv/deleterange",
		etcdRange{Key: []byte(prefix + "/"), RangeEnd: []byte(prefix + "0")}, nil)
}

// compact forgets all revisions but the newest.
func (e *etcdClient) compact(ctx context.Context) error {
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := e.do(ctx, http.MethodPost, "/v3/kv/range", etcdRange{Key: []byte("/")}, &answer); err != nil {
		return err
	}
	request := map[string]any{"revision": answer.Header.Revision, "physical": true}
	return e.do(ctx, http.MethodPost, "/v3/kv/compaction", request, nil)
}

func (e *etcdClient) do(ctx context.Context, method, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, e.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := e.http.Do(r)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s %s: %s: %s", method, path, response.Status, content)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(content, answer)
}
