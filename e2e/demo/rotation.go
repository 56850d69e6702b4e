package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
)

// demoWait stands for the quarter of an hour that workloads have to load an anchor, and for the day that the old one stays.
const demoWait = 2 * time.Second

// rotateWhileServed replaces the authority in all clusters, while a client in one customer's cluster connects to a server in
// another's.
func (s *story) rotateWhileServed(ctx context.Context, serving, visiting customer) (err error) {
	server, err := s.serve(ctx, serving)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	open, err := s.visit(ctx, server, serving, visiting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	handshakes, phases := 0, ""
	if err := s.screen.Do("rotating the authority of all clusters", func() (done, error) {
		start, bundle := time.Now(), newBundle()
		if err := s.env.Admin.Patch(ctx, bundle, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"rotation":{"ca":"demo"}}}`))); err != nil {
			return done{}, fmt.Errorf("rotate the authority of CertificateBundle %s: %w", bundleName, err)
		}
		handshakes, phases, err = s.connectUntilRotated(ctx, server, serving, visiting)
		s.figures.rotated = time.Since(start)
		return done{"the authority is another one, everywhere; the old one is gone", s.figures.rotated}, errors.Join(err, open.echo())
	}); err != nil {
		return err
	}
	s.screen.Note(phases)
	s.screen.Note(fmt.Sprintf("%s connected to %s %d times meanwhile, and no handshake failed; the connection from before goes on", visiting.name, serving.name, handshakes))
	s.screen.Command(kubectl() + " -n " + providerNamespace + " patch cb " + bundleName + ` --type merge -p '{"spec":{"rotation":{"ca":"again"}}}'`)
	return s.awaitDelivered(ctx)
}

// visit connects from one customer's cluster to another's, with the anchors that are stored there now.
func (s *story) visit(ctx context.Context, server *tlsServer, serving, visiting customer) (tlsConnection, error) {
	trusted, err := s.readTrusted(ctx, visiting)
	if err != nil {
		return tlsConnection{}, err
	}
	return tlsClient{address: server.Addr(), config: &tls.Config{RootCAs: trusted, ServerName: serving.host()}}.connect(ctx)
}

// connectUntilRotated returns how often it connected, and which phases it saw. Each connection has to succeed.
func (s *story) connectUntilRotated(ctx context.Context, server *tlsServer, serving, visiting customer) (handshakes int, phases string, err error) {
	var failed error
	seen := certificatesv1alpha1.RotationIdle
	phases = string(seen)
	err = await(ctx, func(ctx context.Context) (sight, error) {
		connection, err := s.visit(ctx, server, serving, visiting)
		if err != nil {
			failed = err
			return sight{happened: true}, nil // A client would see it: there is nothing to wait for.
		}
		handshakes++
		if failed = errors.Join(connection.echo(), connection.Close()); failed != nil {
			return sight{happened: true}, nil
		}
		bundle := newBundle()
		if err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
			return sight{}, err
		}
		told := bundle.Status.Rotation
		if told.Phase != seen {
			seen = told.Phase
			phases += " → " + string(seen)
		}
		return sight{happened: told.Phase == certificatesv1alpha1.RotationIdle && told.Current.Generation == 2, seen: "the rotation is in phase " + string(told.Phase)}, nil
	})
	return handshakes, phases, errors.Join(err, failed)
}
