package backup

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
)

var env *environment.Environment

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 4, func(ctx context.Context, dir string) (func() error, error) {
		key, err := newKey(dir + "-key")
		if err != nil {
			return nil, err
		}
		// What the manager is to STS.
		if err := errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", "the-manager"), os.Setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")); err != nil {
			return nil, err
		}
		env, err = environment.Start(ctx, environment.Options{
			StateDir: dir, Velero: true, ClusterAPI: true, Progress: os.Stderr,
			ManagerArgs: []string{"--leader-election=off", "--allow-private-storage", "--evidence-key=" + key},
		})
		if err != nil {
			return nil, err
		}
		return func() error { return errors.Join(env.Close(), os.RemoveAll(filepath.Dir(key))) }, nil
	}))
}

// publicKey is that of the key with which the manager signs evidence: a file with it.
var publicKey string

// newKey makes a key to sign evidence with, in a directory, and returns its file.
func newKey(dir string) (string, error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", err
	}
	publicDER, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	key := filepath.Join(dir, "private.pem")
	publicKey = filepath.Join(dir, "public.pem")
	return key, errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: privateDER}), 0o600),
		os.WriteFile(publicKey, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER}), 0o600),
	)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
