package localfleet

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// ManagerWebhooks is where the manager has to serve its webhooks. It stays the same
// for as long as the fleet exists.
type ManagerWebhooks struct {
	// Address on the loopback interface.
	Address string
	// CertDir holds tls.crt and tls.key.
	CertDir string
}

// InstallWebhooks applies configurations of webhooks that lead to the manager,
// instead of to the service that they name: it runs in no cluster. Apply them before
// or after StartManager; a test may also serve them itself, where the answer says.
func (f *Fleet) InstallWebhooks(ctx context.Context, configurations []*unstructured.Unstructured) (ManagerWebhooks, error) {
	ports, err := f.claimManagerPorts(ctx)
	if err != nil {
		return ManagerWebhooks{}, err
	}
	if err := f.createServerCredentials(managerName); err != nil {
		return ManagerWebhooks{}, err
	}
	server, err := f.webhookServer(managerName, ports.WebhookPort)
	if err != nil {
		return ManagerWebhooks{}, err
	}
	for _, configuration := range configurations {
		if err := server.take(configuration); err != nil {
			return ManagerWebhooks{}, fmt.Errorf("%s: %w", configuration.GetName(), err)
		}
	}
	if err := manifests.Apply(ctx, f.Management().Config(), configurations); err != nil {
		return ManagerWebhooks{}, fmt.Errorf("install the manager's webhooks: %w", err)
	}
	return ManagerWebhooks{Address: fmt.Sprintf("127.0.0.1:%d", ports.WebhookPort), CertDir: f.paths.pki(managerName)}, nil
}

// webhookServer is where a program listens to an API server.
type webhookServer struct {
	url       string
	authority []byte
}

func (f *Fleet) webhookServer(program string, port int) (webhookServer, error) {
	authority, err := os.ReadFile(filepath.Join(f.paths.pki(program), certificateFile(authorityName)))
	return webhookServer{url: loopbackURL(port), authority: authority}, err
}

// take replaces the service that a configuration's webhooks name.
func (s webhookServer) take(configuration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, webhook := range webhooks {
		fields, ok := webhook.(map[string]any)
		if !ok {
			return fmt.Errorf("a webhook is no object: %v", webhook)
		}
		path, found, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
		if err != nil || !found {
			return fmt.Errorf("webhook %v names no path of a service: %w", fields["name"], err)
		}
		fields["clientConfig"] = s.clientConfig(path)
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

func (s webhookServer) clientConfig(path string) map[string]any {
	return map[string]any{"url": s.url + path, "caBundle": base64.StdEncoding.EncodeToString(s.authority)}
}
