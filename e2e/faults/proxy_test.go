package faults

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestWhatNoRuleIsAboutPasses(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Match: Match{Verbs: Writes()}, Action: Unavailable()})
	got := e.do(http.MethodGet, configMaps, "")
	if got.err != nil || got.StatusCode != http.StatusOK || got.ProtoMajor != 2 {
		t.Fatalf("the client got %+v, not an answer over HTTP/2", got)
	}
	if want := `{"server":"first","count":1,"credentials":"Bearer of the proxy"}`; got.body != want {
		t.Errorf("the client got %s, not %s", got.body, want)
	}
}

func TestAKubeconfigLeadsToTheProxyAndOthersAreRefused(t *testing.T) {
	e := newEnv(t)
	config, err := clientcmd.RESTConfigFromKubeConfig(e.proxy.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != e.proxy.Config().Host || config.BearerToken != e.proxy.token {
		t.Errorf("the kubeconfig leads to %s", config.Host)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.proxy.server.URL+configMaps, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer guessed")
	response, err := e.proxy.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // Its code is all there is to it.
	if response.StatusCode != http.StatusUnauthorized || len(e.server.requests()) != 0 {
		t.Errorf("a request with another token is answered %s, after %d requests to the server", response.Status, len(e.server.requests()))
	}
}

func TestARuleAppliesToEveryNthRequestSoManyTimes(t *testing.T) {
	e := newEnv(t)
	rule := e.proxy.Inject(Rule{Match: Match{Verbs: []string{"create"}}, Every: 3, Times: 2, Action: Conflict()})
	var codes []int
	for range 8 {
		e.do(http.MethodGet, configMaps, "")
		codes = append(codes, e.do(http.MethodPost, configMaps, "{}").StatusCode)
	}
	for i, code := range codes {
		if disturbed := i == 0 || i == 3; disturbed != (code == http.StatusConflict) {
			t.Errorf("request %d is answered %d", i, code)
		}
	}
	if rule.Count() != 2 {
		t.Errorf("the rule is said to have applied %d times", rule.Count())
	}
}

func TestARemovedRuleDoesNotApply(t *testing.T) {
	e := newEnv(t)
	first := e.proxy.Inject(Rule{Action: Conflict()})
	e.proxy.Inject(Rule{Action: Unavailable()})
	if code := e.do(http.MethodGet, configMaps, "").StatusCode; code != http.StatusConflict {
		t.Errorf("the rule that was added first gives way: the answer is %d", code)
	}
	first.Remove()
	if code := e.do(http.MethodGet, configMaps, "").StatusCode; code != http.StatusServiceUnavailable {
		t.Errorf("without the first rule the answer is %d", code)
	}
}

func TestTheProxyTellsOfAllRequests(t *testing.T) {
	e := newEnv(t)
	e.proxy.Inject(Rule{Match: Match{Names: []string{"second"}}, Action: LoseAnswer()})
	e.do(http.MethodPatch, configMaps+"/first?dryRun=All", "")
	e.do(http.MethodPatch, configMaps+"/second", "")
	e.do(http.MethodGet, configMaps, "")
	told := e.proxy.Requests(Match{Resources: []string{"configmaps"}, Verbs: Writes()})
	if len(told) != 2 || told[0].Code != http.StatusOK || told[0].IsWrite() || told[0].Disturbed {
		t.Fatalf("the proxy tells of %+v", told)
	}
	if told[1].Code != 0 || !told[1].IsWrite() || !told[1].Disturbed || told[1].Name != "second" {
		t.Errorf("of a lost answer the proxy tells %+v", told[1])
	}
}

func TestSwitchLeadsKeptConnectionsToAnotherServer(t *testing.T) {
	e := newEnv(t)
	e.do(http.MethodGet, configMaps, "")
	watched := make(chan answer)
	go func() { watched <- e.do(http.MethodGet, configMaps+"?watch=true", "") }()
	e.eventually("the watch is open", func() bool { return len(e.server.requests()) == 2 })

	second := startServer(t, "second")
	if err := e.proxy.Switch(second.config()); err != nil {
		t.Fatal(err)
	}
	if cut := <-watched; cut.err == nil {
		t.Errorf("the watch ends with %+v, not with an error", cut)
	}
	if got := e.do(http.MethodGet, configMaps, ""); !strings.Contains(got.body, `"second"`) {
		t.Errorf("after the switch the client got %+v", got)
	}
}

func TestRequestsAreUnderstood(t *testing.T) {
	tests := map[string]Request{
		"GET /api":                           {Verb: Discover},
		"GET /apis/apps/v1":                  {Verb: Discover},
		"GET /openapi/v3":                    {Verb: Discover},
		"GET /version":                       {Verb: Discover},
		"GET /readyz":                        {Verb: "get"},
		"GET /":                              {Verb: "get"},
		"GET /api/v1/namespaces":             {Verb: "list", Resource: "namespaces"},
		"GET /api/v1/namespaces/ns":          {Verb: "get", Resource: "namespaces", Name: "ns"},
		"PUT /api/v1/namespaces/ns/finalize": {Verb: "update", Resource: "namespaces/finalize", Name: "ns"},
		"GET /api/v1/namespaces/ns/secrets?watch=1":                 {Verb: "watch", Resource: "secrets", Namespace: "ns"},
		"POST /api/v1/namespaces/ns/secrets?dryRun=All":             {Verb: "create", Resource: "secrets", Namespace: "ns", DryRun: true},
		"DELETE /api/v1/namespaces/ns/secrets":                      {Verb: "deletecollection", Resource: "secrets", Namespace: "ns"},
		"DELETE /apis/apps/v1/namespaces/ns/deployments/d":          {Verb: "delete", Resource: "deployments.apps", Namespace: "ns", Name: "d"},
		"PATCH /apis/apps/v1/namespaces/ns/deployments/d/scale":     {Verb: "patch", Resource: "deployments.apps/scale", Namespace: "ns", Name: "d"},
		"PUT /apis/rbac.authorization.k8s.io/v1/clusterroles/admin": {Verb: "update", Resource: "clusterroles.rbac.authorization.k8s.io", Name: "admin"},
	}
	for sent, want := range tests {
		method, url, _ := strings.Cut(sent, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := parse(request)
		want.Path, want.Query, want.Arrived = got.Path, got.Query, got.Arrived
		if got != want {
			t.Errorf("%s is understood as %+v, not as %+v", sent, got, want)
		}
	}
}

func TestAMatchIsAboutWhatItSays(t *testing.T) {
	request := Request{Verb: "patch", Resource: "deployments.apps", Namespace: "shop", Name: "web-1", Path: "/apis/apps/v1/namespaces/shop/deployments/web-1"}
	tests := map[string]struct {
		match Match
		want  bool
	}{
		"everything":       {Match{}, true},
		"a verb":           {Match{Verbs: Writes()}, true},
		"another verb":     {Match{Verbs: []string{"get"}}, false},
		"a resource":       {Match{Resources: []string{"secrets", "deployments.apps"}}, true},
		"a subresource":    {Match{Resources: []string{"deployments.apps/status"}}, false},
		"any resource":     {Match{Resources: []string{"*"}}, true},
		"a pattern":        {Match{Names: []string{"web-*"}, Namespaces: []string{"shop"}}, true},
		"another name":     {Match{Names: []string{"db-*"}}, false},
		"a path":           {Match{Paths: []string{"/apis/apps/"}}, true},
		"another path":     {Match{Paths: []string{"/api/"}}, false},
		"one of two apart": {Match{Verbs: []string{"patch"}, Names: []string{"db"}}, false},
	}
	for name, test := range tests {
		if got := test.match.matches(request); got != test.want {
			t.Errorf("%s matches: %v", name, got)
		}
	}
	if (Match{Resources: []string{"*"}}).matches(Request{Verb: Discover, Path: "/apis"}) {
		t.Error("discovery passes for a resource")
	}
}
