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
	"time"
)

const etcdTimeout = 10 * time.Second

// etcdClient speaks to etcd through its JSON gateway, which spares the fleet
// etcd's client library for the few requests it needs.
type etcdClient struct {
	url  string
	http *http.Client
}

func (f *Fleet) etcdClient(server etcdServer) (*etcdClient, error) {
	pair, err := readPair(f.paths.etcdPKI(), etcdClientName)
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, err
	}
	authority, err := readPair(f.paths.etcdPKI(), authorityName)
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
		url:  server.httpURL(),
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
