package helmclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// DefaultMaxHistory is how many revisions of a release the helm command keeps.
	DefaultMaxHistory = 10
	// defaultTimeout is that of the helm command.
	defaultTimeout = 5 * time.Minute
	// fieldManager is the helm command's. Helm takes the name of whatever program it is part of.
	fieldManager = "helm"
)

// Settings hold for all actions of a client. Without any of them it does what the helm command does,
// except that all revisions are kept.
type Settings struct {
	// MaxHistory is how many revisions upgrades and rollbacks keep of a release; 0 keeps all.
	MaxHistory int
	// Timeout is that of each wait for a hook; five minutes if 0.
	Timeout time.Duration
	// WaitStrategy says what to wait for. Only hooks are, if it is empty.
	WaitStrategy kube.WaitStrategy
	// Capabilities of the cluster. Each action finds them out by itself if nil; otherwise, all share
	// one discovery of the cluster's kinds. Fastest returns them.
	Capabilities *common.Capabilities
	// DisableOpenAPIValidation leaves out the check of manifests against the cluster's schema, for which
	// an action fetches all of that. The API server checks as well. Hooks are always checked.
	DisableOpenAPIValidation bool
}

// Client runs Helm's actions in one cluster. Its methods may be called at the same time.
type Client struct {
	config   *rest.Config
	settings Settings
	// shared is nil if each action makes a discovery of its own.
	shared *discovery
}

// setFieldManager sets what is a variable of Helm's package.
var setFieldManager = sync.OnceFunc(func() { kube.ManagedFieldsManager = fieldManager })

// New returns a client with the rights, and the rate limit, of a configuration.
func New(config *rest.Config, settings Settings) (*Client, error) {
	setFieldManager()
	if settings.Timeout == 0 {
		settings.Timeout = defaultTimeout
	}
	if settings.WaitStrategy == "" {
		settings.WaitStrategy = kube.HookOnlyStrategy
	}
	client := &Client{config: config, settings: settings}
	if settings.Capabilities == nil {
		return client, nil
	}
	var err error
	client.shared, err = newSharedDiscovery(config)
	return client, err
}

// FromKubeconfig returns a client for a kubeconfig's current context.
func FromKubeconfig(kubeconfig []byte, settings Settings) (*Client, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return New(config, settings)
}

// Fastest returns the settings with which the SDK costs the least: capabilities found out once, and no
// validation against the OpenAPI schema.
func Fastest(config *rest.Config) (Settings, error) {
	capabilities, err := discoverCapabilities(config)
	return Settings{Capabilities: capabilities, DisableOpenAPIValidation: true}, err
}

// configuration is made anew for each action, as for each run of the helm command: actions change it.
func (c *Client) configuration(namespace string) (*action.Configuration, error) {
	found := c.shared
	if found == nil {
		var err error
		if found, err = newDiscovery(c.config); err != nil {
			return nil, err
		}
	}
	configuration := action.NewConfiguration(action.ConfigurationSetLogger(slog.DiscardHandler))
	getter := &connection{config: c.config, namespace: namespace, discovery: found}
	if err := configuration.Init(getter, namespace, "secret"); err != nil {
		return nil, fmt.Errorf("prepare Helm for namespace %s: %w", namespace, err)
	}
	configuration.Capabilities = c.settings.Capabilities
	return configuration, nil
}

func (c *Client) waitOptions(ctx context.Context) []kube.WaitOption {
	return []kube.WaitOption{kube.WithWaitContext(ctx)}
}

// load refuses what the helm command refuses. A chart is loaded for each action: actions change it.
func load(archive []byte) (*chartv2.Chart, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("load the chart: %w", err)
	}
	if loaded.Metadata.Type == "library" {
		return nil, fmt.Errorf("chart %s is a library: install one that uses it", loaded.Name())
	}
	var required []chart.Dependency
	for _, dependency := range loaded.Metadata.Dependencies {
		required = append(required, dependency)
	}
	if err := action.CheckDependencies(loaded, required); err != nil {
		return nil, fmt.Errorf("chart %s is not complete, vendor its subcharts: %w", loaded.Name(), err)
	}
	return loaded, nil
}

var errNotV1 = errors.New("helm returned a release that is not of release/v1")
