package localfleet

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	s3Gateway     = "versitygw"
	storageRegion = "us-east-1"
	// storageHealthPath is no name that a bucket can have.
	storageHealthPath = "/_health"
)

// Storage is what a client needs to know of the fleet's S3 gateway.
type Storage struct {
	// Endpoint is its URL, Region what requests are signed for.
	Endpoint, Region string
	// CA is the certificate of the authority that the gateway's own is from, in PEM.
	CA []byte
	// AccessKey and SecretKey are those of the account that owns every bucket and may do everything.
	AccessKey, SecretKey string
}

// Storage returns the S3 gateway of a fleet that was started with Options.Velero.
func (f *Fleet) Storage() (Storage, error) {
	state := f.storageState()
	if state == nil {
		return Storage{}, errors.New("the fleet has no storage: start it with Velero first")
	}
	authority, err := os.ReadFile(filepath.Join(f.paths.pki(storageName), certificateFile(authorityName)))
	return Storage{
		Endpoint: loopbackURL(state.Port), Region: storageRegion, CA: authority,
		AccessKey: state.AccessKey, SecretKey: state.SecretKey,
	}, err
}

// CreateBucket makes an empty bucket, unless there is one of that name, and returns its directory: an object's key is
// the path of a file in it.
func (f *Fleet) CreateBucket(name string) (dir string, err error) {
	dir = filepath.Join(f.paths.buckets(), name)
	return dir, os.MkdirAll(dir, 0o700)
}

// CreateStorageAccount makes an account of the S3 gateway that may do nothing until the policy of a bucket allows it.
func (f *Fleet) CreateStorageAccount(ctx context.Context, accessKey, secretKey string) error {
	storage, err := f.Storage()
	if err != nil {
		return err
	}
	binary, err := f.components.Binary(ctx, s3Gateway)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, binary, "admin", "--endpoint-url", storage.Endpoint, "--region", storage.Region,
		"create-user", "--access", accessKey, "--role", "user", "--secret", secretKey)
	command.Env = append(os.Environ(),
		"ADMIN_ACCESS_KEY_ID="+storage.AccessKey, "ADMIN_SECRET_ACCESS_KEY="+storage.SecretKey,
		"SSL_CERT_FILE="+filepath.Join(f.paths.pki(storageName), certificateFile(authorityName)))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("create the account %s: %w: %s", accessKey, err, output)
	}
	return nil
}

// KillStorage ends the S3 gateway without a warning (SIGKILL) and waits until it is gone. What it stored stays.
func (f *Fleet) KillStorage(ctx context.Context) error { return f.kill(ctx, storageName) }

// StartStorage starts the S3 gateway unless it runs, and waits until it answers.
func (f *Fleet) StartStorage(ctx context.Context) error {
	start := time.Now()
	storage, err := f.Storage()
	if err != nil {
		return err
	}
	for _, dir := range []string{f.paths.buckets(), f.paths.accounts(), f.paths.objectVersions()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(storage.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	p, err := f.ensure(ctx, f.storageProgram(storage))
	if err != nil {
		return err
	}
	ready := func(ctx context.Context) error { return getOK(ctx, client, storage.Endpoint+storageHealthPath) }
	if err := waitReady(ctx, ready, p); err != nil {
		return err
	}
	f.progressf("storage: ready on %s after %.1fs", storage.Endpoint, time.Since(start).Seconds())
	return nil
}

func (f *Fleet) storageProgram(storage Storage) program {
	port := f.storageState().Port
	pki := f.paths.pki(storageName)
	return program{
		name:   storageName,
		binary: s3Gateway,
		args: []string{
			fmt.Sprintf("--port=127.0.0.1:%d", port),
			"--region=" + storage.Region,
			"--cert=" + filepath.Join(pki, serverCertificateFile),
			"--key=" + filepath.Join(pki, serverKeyFile),
			"--health=" + storageHealthPath,
			"--iam-dir=" + f.paths.accounts(),
			"--quiet",
			"posix", "--versioning-dir=" + f.paths.objectVersions(), f.paths.buckets(),
		},
		env:   []string{"ROOT_ACCESS_KEY=" + storage.AccessKey, "ROOT_SECRET_KEY=" + storage.SecretKey},
		ports: []int{port},
	}
}

// bringUpStorage claims a port and makes keys and certificates, once, and then starts the gateway.
func (f *Fleet) bringUpStorage(ctx context.Context) error {
	if f.storageState() == nil {
		if err := f.claimStorage(ctx); err != nil {
			return err
		}
	}
	return f.StartStorage(ctx)
}

// claimStorage ends the provider, which knew when it started whether its clusters have Velero.
func (f *Fleet) claimStorage(ctx context.Context) error {
	claimed := &storageState{AccessKey: "local-fleet", SecretKey: rand.Text()}
	if err := f.claimPorts(ctx, &claimed.Port); err != nil {
		return err
	}
	if err := f.createServerCredentials(storageName); err != nil {
		return err
	}
	if f.ProviderPID() != 0 {
		if err := f.KillProvider(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Storage = claimed
	return writeState(f.paths, f.state)
}

func (f *Fleet) storageState() *storageState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Storage
}
