package controllers

import (
	"maps"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/daytwo-dev/daytwo/controllers/internal/managementserver"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/internal/secretaccess"
)

// SecretAccess is to the Secrets that the manager reads; a nil one is to those of all namespaces.
type SecretAccess = secretaccess.Access

// NewSecretAccess returns the access to the Secrets of the SecretNamespaces, and of those for Clusters beside them. The
// configuration of the manager has to go through its RoundTripper, and its cache needs the CacheOptions.
func (o Options) NewSecretAccess() *SecretAccess {
	return secretaccess.New(o.SecretNamespaces, o.Orders().Complete().ClusterNamespace, o.Log.WithName("secretaccess"))
}

// CacheOptions narrow what the manager's cache holds.
func CacheOptions(access *SecretAccess) cache.Options {
	options := cache.Options{ByObject: optionalkind.CacheOptions(), NewInformer: access.NewInformer()}
	maps.Copy(options.ByObject, managementserver.CacheOptions())
	maps.Copy(options.ByObject, access.CacheOptions())
	return options
}
