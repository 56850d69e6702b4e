package faults

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Discover is the verb of requests for the kinds, the schemas and the version of an API server.
const Discover = "discover"

// Writes are the verbs that change something.
func Writes() []string { return []string{"create", "update", "patch", "delete", "deletecollection"} }

// Request is what the proxy knows of one request.
type Request struct {
	// Verb is that of a role (get, list, watch, create, update, patch, delete, deletecollection) or Discover. It is
	// the HTTP method in lower case where the path is neither a resource's nor discovery's.
	Verb string
	// Resource is the plural name with its group, if it has one, and the subresource: "configmaps",
	// "deployments.apps", "deployments.apps/scale".
	Resource        string
	Namespace, Name string
	// Path of the URL, and its query as it was sent.
	Path, Query string
	// DryRun requests change nothing.
	DryRun    bool
	UserAgent string
	// Arrived is when the proxy got it.
	Arrived time.Time
	// Code is the status that the client was answered with; 0 while there is no answer, or if there never was one.
	Code int
	// Disturbed tells whether a rule applied to it.
	Disturbed bool
}

// IsWrite tells whether the request changes something if it is carried out.
func (r Request) IsWrite() bool { return slices.Contains(Writes(), r.Verb) && !r.DryRun }

func parse(r *http.Request) Request {
	query := r.URL.Query()
	parsed := Request{
		Path: r.URL.Path, Query: r.URL.RawQuery, UserAgent: r.UserAgent(), DryRun: query.Has("dryRun"), Arrived: time.Now(),
	}
	group, rest, isResource := splitGroup(strings.Split(strings.Trim(r.URL.Path, "/"), "/"))
	switch {
	case isResource:
		parsed.setResource(group, rest)
		parsed.Verb = verbOf(r.Method, parsed.Name != "", query.Get("watch"))
	case isDiscovery(r.URL.Path):
		parsed.Verb = Discover
	default:
		parsed.Verb = strings.ToLower(r.Method)
	}
	return parsed
}

// splitGroup takes the group and version off a path.
func splitGroup(parts []string) (group string, rest []string, isResource bool) {
	switch {
	case parts[0] == "api" && len(parts) > 2:
		return "", parts[2:], true
	case parts[0] == "apis" && len(parts) > 3:
		return parts[1], parts[3:], true
	}
	return "", nil, false
}

func isDiscovery(path string) bool {
	first, _, _ := strings.Cut(strings.Trim(path, "/"), "/")
	return slices.Contains([]string{"api", "apis", "openapi", "version"}, first)
}

// setResource reads what follows the version: [namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]].
func (r *Request) setResource(group string, parts []string) {
	subresourcesOfNamespaces := []string{"status", "finalize"}
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains(subresourcesOfNamespaces, parts[2]) {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0]
	if group != "" {
		r.Resource += "." + group
	}
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Resource += "/" + strings.Join(parts[2:], "/")
	}
}

func verbOf(method string, named bool, watch string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	switch {
	case watch == "true" || watch == "1":
		return "watch"
	case named:
		return "get"
	}
	return "list"
}
