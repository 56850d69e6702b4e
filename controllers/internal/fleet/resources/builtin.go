package resources

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
)

// builtinFiles say how each supported minor version of Kubernetes serves the stable kinds that come with it; see
// tools/builtinkinds.
//
//go:embed builtin/*.txt
var builtinFiles embed.FS

// builtinKinds are those kinds, by minor version, as in "v1.36". No cluster adds to them.
var builtinKinds = sync.OnceValue(func() map[string]map[schema.GroupVersionKind]Resource {
	files, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		panic(err) // It is part of the program.
	}
	all := map[string]map[schema.GroupVersionKind]Resource{}
	for _, file := range files {
		content, err := builtinFiles.ReadFile("builtin/" + file.Name())
		if err != nil {
			panic(err)
		}
		kinds := map[schema.GroupVersionKind]Resource{}
		for line := range strings.Lines(string(content)) {
			resource := parseBuiltin(line)
			kinds[resource.GroupVersion().WithKind(resource.Kind)] = resource
		}
		all[strings.TrimSuffix(file.Name(), ".txt")] = kinds
	}
	return all
})

// parseBuiltin reads a line such as "apps/v1 Deployment deployments namespaced status".
func parseBuiltin(line string) Resource {
	fields := strings.Fields(line)
	group, version, found := strings.Cut(fields[0], "/")
	if !found {
		group, version = "", fields[0]
	}
	return Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: fields[2]},
		Kind:                 fields[1], Namespaced: fields[3] == "namespaced", HasStatus: len(fields) > 4,
	}
}

// builtinResource is how an API server of that version, as in "v1.36.3", serves a kind that comes with it; false for other
// kinds, and for versions that are not known here.
func builtinResource(server string, kind schema.GroupVersionKind) (Resource, bool) {
	parsed, err := version.ParseGeneric(server)
	if err != nil {
		return Resource{}, false
	}
	resource, ok := builtinKinds()[fmt.Sprintf("v%d.%d", parsed.Major(), parsed.Minor())][kind]
	return resource, ok
}

// isBuiltin is whether a kind comes with any version of Kubernetes that is known here.
func isBuiltin(kind schema.GroupVersionKind) bool {
	for _, kinds := range builtinKinds() {
		if _, ok := kinds[kind]; ok {
			return true
		}
	}
	return false
}
