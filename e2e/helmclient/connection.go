package helmclient

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/kubeenv"
	"k8s.io/apimachinery/pkg/api/meta"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// discovery knows a cluster's kinds. Unlike the helm command's, it keeps them in memory and not below
// the user's home.
type discovery struct {
	client clientdiscovery.CachedDiscoveryInterface
	// mapper is nil if each who asks for one gets a new one.
	mapper meta.RESTMapper
}

func newDiscovery(config *rest.Config) (*discovery, error) {
	client, err := clientdiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	return &discovery{client: memory.NewMemCacheClient(client)}, nil
}

// newSharedDiscovery is for many actions, and spares them the work of making a mapper.
func newSharedDiscovery(config *rest.Config) (*discovery, error) {
	shared, err := newDiscovery(config)
	if err == nil {
		shared.mapper = newMapper(shared.client)
	}
	return shared, err
}

func newMapper(known clientdiscovery.CachedDiscoveryInterface) meta.RESTMapper {
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(known), known, func(string) {})
}

// connection is how Helm sees a cluster and a namespace in it.
type connection struct {
	config    *rest.Config
	namespace string
	*discovery
}

// ToRESTConfig returns a copy, since its callers change it, and retries what the helm command retries.
func (c *connection) ToRESTConfig() (*rest.Config, error) {
	config := rest.CopyConfig(c.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &kubeenv.RetryingRoundTripper{Wrapped: next}
	})
	return config, nil
}

// ToDiscoveryClient returns what forgets only when told to.
func (c *connection) ToDiscoveryClient() (clientdiscovery.CachedDiscoveryInterface, error) {
	return c.client, nil
}

// ToRESTMapper returns one that, unless it is shared, asks the cluster again once it meets a kind that is
// not known: so the helm command finds the kinds of definitions that it has just made.
func (c *connection) ToRESTMapper() (meta.RESTMapper, error) {
	if c.mapper != nil {
		return c.mapper, nil
	}
	return newMapper(&inherited{CachedDiscoveryInterface: c.client}), nil
}

// inherited is a discovery that somebody else made, and that counts as old until it is made anew. With
// the helm command, it is what another part of it left in a file.
type inherited struct {
	clientdiscovery.CachedDiscoveryInterface
	renewed atomic.Bool
}

func (i *inherited) Fresh() bool { return i.renewed.Load() && i.CachedDiscoveryInterface.Fresh() }

func (i *inherited) Invalidate() {
	i.CachedDiscoveryInterface.Invalidate()
	i.renewed.Store(true)
}

// ToRawKubeConfigLoader is asked for the namespace of objects that name none.
func (c *connection) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}}
	return clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, overrides)
}

// discoverCapabilities finds out what Helm's actions do each time.
func discoverCapabilities(config *rest.Config) (*common.Capabilities, error) {
	client, err := clientdiscovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its version: %w", err)
	}
	versions, err := action.GetVersionSet(client)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	return &common.Capabilities{
		KubeVersion: common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		APIVersions: versions,
		HelmVersion: common.DefaultCapabilities.HelmVersion,
	}, nil
}
