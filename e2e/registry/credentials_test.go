package registry

import (
	"crypto/x509"
	"errors"
	"net/http"
	"testing"

	helmregistry "helm.sh/helm/v4/pkg/registry"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

func TestOnlyItsAuthorityVouchesForIt(t *testing.T) {
	server := start(t, Options{})
	other := start(t, Options{})
	_, err := trusting(t, other).Get(server.HTTPS())
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Errorf("a client with another authority gets %v", err)
	}
}

func TestCredentialsAreAskedForOnBothSides(t *testing.T) {
	server := start(t, Options{Username: "shop", Password: "hunter2"})
	push(t, server, "web", charts.FirstVersion)
	if _, err := helm(t, server).Pull(reference(server, "web:1.0.0")); err == nil {
		t.Error("a chart was pulled without a password")
	}
	if status, _ := get(t, trusting(t, server), server.HTTPS()+"index.yaml"); status != http.StatusUnauthorized {
		t.Errorf("the index without a password: %d", status)
	}
	wrong := func(r *http.Request) { r.SetBasicAuth("shop", "wrong") }
	if status, _ := get(t, trusting(t, server), server.HTTPS()+"index.yaml", wrong); status != http.StatusUnauthorized {
		t.Errorf("the index with a wrong password: %d", status)
	}
	if requests := server.Requests(); len(requests) != 0 {
		t.Errorf("requests without a password count: %v", requests)
	}
	if _, err := helm(t, server, helmregistry.ClientOptBasicAuth("shop", "hunter2")).Pull(reference(server, "web:1.0.0")); err != nil {
		t.Errorf("with the password: %v", err)
	}
	right := func(r *http.Request) { r.SetBasicAuth("shop", "hunter2") }
	if status, _ := get(t, trusting(t, server), server.HTTPS()+"web-1.0.0.tgz", right); status != http.StatusOK {
		t.Errorf("the archive with the password: %d", status)
	}
	if got := server.Downloads("web", charts.FirstVersion); got != 2 {
		t.Errorf("there were %d downloads, want 2", got)
	}
}

func TestHalfOfTheCredentialsIsRefused(t *testing.T) {
	if server, err := Start(t.Context(), Options{Username: "shop"}); err == nil {
		server.Close()
		t.Error("a registry with a username and no password started")
	}
}
