package teardown

import (
	"slices"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Stage orders removals: everything of one is gone, or stays, before anything of the next is deleted.
type Stage int

// Stages, in the order in which they are removed.
const (
	// CustomResources are all objects of kinds that do not come with Kubernetes. An operator may have to finalize
	// them, so whatever could be an operator goes later.
	CustomResources Stage = iota
	// Interceptors hand requests to a server that runs in the cluster: admission webhooks and aggregated APIs. They
	// go after the objects that they validate and serve, and before that server: without it they would refuse what
	// anyone else writes.
	Interceptors
	// Workloads run, or lead to what runs.
	Workloads
	// Configuration is what workloads need to run and to end: accounts, rights, settings, storage.
	Configuration
	// Definitions of custom resources.
	Definitions
	// Namespaces go last: all else may be in one.
	Namespaces
)

// StageOf returns the stage in which objects of a kind are removed.
func StageOf(kind schema.GroupKind) Stage {
	switch {
	case kind == objects.NamespaceKind:
		return Namespaces
	case kind == objects.DefinitionKind:
		return Definitions
	case kind.Group == "admissionregistration.k8s.io", kind.Group == "apiregistration.k8s.io":
		return Interceptors
	case !scheme.Scheme.IsGroupRegistered(kind.Group):
		return CustomResources
	case isWorkload(kind.Kind):
		return Workloads
	}
	return Configuration
}

// isWorkload asks Helm's order of uninstallation: what Helm removes before rights are Services, Ingresses and
// all that runs.
func isWorkload(kind string) bool {
	at := slices.Index(releaseutil.UninstallOrder, kind)
	return at >= 0 && at < slices.Index(releaseutil.UninstallOrder, "RoleBindingList")
}

// Group returns the items of each stage that has any, in the order of the stages. Items of a stage keep their order.
func Group[T any](items []T, stageOf func(T) Stage) [][]T {
	var byStage [Namespaces + 1][]T
	for _, item := range items {
		at := stageOf(item)
		byStage[at] = append(byStage[at], item)
	}
	return slices.DeleteFunc(byStage[:], func(stage []T) bool { return len(stage) == 0 })
}
