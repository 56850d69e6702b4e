package faults

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Match says which requests a rule is about. An empty field matches all.
type Match struct {
	// Verbs as in Request.
	Verbs []string
	// Resources as in Request; "*" is every resource with all its subresources, but neither discovery nor probes of
	// health.
	Resources []string
	// Namespaces and Names are patterns of path.Match.
	Namespaces, Names []string
	// Paths are beginnings of the URL's path.
	Paths []string
}

func (m Match) matches(r Request) bool {
	return among(m.Verbs, func(verb string) bool { return verb == r.Verb }) &&
		among(m.Resources, func(resource string) bool { return resource == r.Resource || resource == "*" && r.Resource != "" }) &&
		among(m.Namespaces, func(pattern string) bool { return fits(pattern, r.Namespace) }) &&
		among(m.Names, func(pattern string) bool { return fits(pattern, r.Name) }) &&
		among(m.Paths, func(start string) bool { return strings.HasPrefix(r.Path, start) })
}

func among(wanted []string, is func(string) bool) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, is)
}

func fits(pattern, name string) bool {
	fits, err := path.Match(pattern, name)
	return fits && err == nil
}

// Rule is what the proxy does with some requests.
type Rule struct {
	Match
	// Every how many of the requests that match it applies, starting with the first; 0 and 1 are all of them.
	Every int
	// Times is how often it applies; 0 is without end.
	Times  int
	Action Action
}

// Injected is a rule that the proxy follows.
type Injected struct {
	proxy *Proxy
	rule  Rule

	mu             sync.Mutex
	matched, acted int
}

// Count returns how often the rule applied.
func (i *Injected) Count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.acted
}

// Remove ends the rule. Requests that it applied to stay as they are: what hangs goes on hanging.
func (i *Injected) Remove() { i.proxy.remove(i) }

// due tells whether the rule applies to a request, and counts it.
func (i *Injected) due(r Request) bool {
	if !i.rule.matches(r) {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rule.Times > 0 && i.acted >= i.rule.Times {
		return false
	}
	i.matched++
	if (i.matched-1)%max(i.rule.Every, 1) != 0 {
		return false
	}
	i.acted++
	return true
}
