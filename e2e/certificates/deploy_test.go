package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// Names in config/webhook.
const (
	configured  = "../../config/webhook"
	namespace   = "daytwo-system"
	certificate = "daytwo-webhook"
	secretName  = "daytwo-webhook-certificate"
	// host is the name of the Service, which the API server expects in the certificate.
	host = "daytwo-webhook.daytwo-system.svc"
)

// deployWebhooks deploys config/webhook. As the pod of a Deployment waits for its volume, so does the manager for the Secret.
func deployWebhooks(ctx context.Context, fleet *localfleet.Fleet) error {
	admin, err := client.New(fleet.Management().Config(), client.Options{Scheme: apis.NewScheme()})
	if err != nil {
		return err
	}
	objects, err := manifests.Load(filepath.Join(configured, "certificate.yaml"))
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, fleet.Management().Config(), objects); err != nil {
		return err
	}
	secret, err := awaitIssued(ctx, admin, nil)
	if err != nil {
		return err
	}
	if err := route(ctx, fleet); err != nil {
		return err
	}
	if err := inject(ctx, fleet, secret); err != nil {
		return err
	}
	return mounted.replace(secret)
}

// awaitIssued waits until cert-manager has issued a certificate with another serial number than before.
func awaitIssued(ctx context.Context, admin client.Client, before *big.Int) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, expect.Await(ctx, "the certificate of the webhooks is issued", func(ctx context.Context) error {
		secret = &corev1.Secret{}
		if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secretName}, secret); err != nil {
			return err
		}
		serial, err := serialOf(secret)
		if err == nil && before != nil && serial.Cmp(before) == 0 {
			err = fmt.Errorf("the certificate is still %s", serial)
		}
		return err
	})
}

// serialOf is that of the certificate in a Secret.
func serialOf(secret *corev1.Secret) (*big.Int, error) {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", secret.Name, err)
	}
	return pair.Leaf.SerialNumber, nil
}

// route stands in for kube-proxy: it leads the Service of config/webhook to the manager, which runs in no cluster.
func route(ctx context.Context, fleet *localfleet.Fleet) error {
	objects, err := manifests.Load(filepath.Join(configured, "service.yaml"))
	if err != nil {
		return err
	}
	address, _, err := webhookAddress(ctx, fleet)
	if err != nil {
		return err
	}
	for _, service := range objects {
		service.Object["spec"] = map[string]any{"type": string(corev1.ServiceTypeExternalName), "externalName": address}
	}
	return manifests.Apply(ctx, fleet.Management().Config(), objects)
}

// webhookAddress is where the manager serves its webhooks.
func webhookAddress(ctx context.Context, fleet *localfleet.Fleet) (address string, port int64, err error) {
	where, err := fleet.InstallWebhooks(ctx, nil)
	if err != nil {
		return "", 0, err
	}
	address, text, err := net.SplitHostPort(where.Address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.ParseInt(text, 10, 32)
	return address, port, err
}

// inject stands in for cainjector: the API server trusts the authority of a Secret. It asks the Service that the
// configuration names, at the port of the manager.
func inject(ctx context.Context, fleet *localfleet.Fleet, secret *corev1.Secret) error {
	configurations, err := manifests.Load(filepath.Join(configured, "validating.yaml"))
	if err != nil {
		return err
	}
	_, port, err := webhookAddress(ctx, fleet)
	if err != nil {
		return err
	}
	for _, configuration := range configurations {
		webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			asked := webhook.(map[string]any)["clientConfig"].(map[string]any)
			asked["caBundle"] = base64.StdEncoding.EncodeToString(secret.Data["ca.crt"])
			asked["service"].(map[string]any)["port"] = port
		}
		if err := unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks"); err != nil {
			return err
		}
	}
	return manifests.Apply(ctx, fleet.Management().Config(), configurations)
}

// served asks the manager for its certificate, and verifies it as the API server does.
func served(ctx context.Context, authority []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("the authority of Secret %s is no certificate", secretName)
	}
	where, err := env.Fleet.InstallWebhooks(ctx, nil)
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", where.Address)
	if err != nil {
		return nil, err
	}
	leaf := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	return leaf, connection.Close()
}
