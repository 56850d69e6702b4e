// Package faults has a proxy that misbehaves on request. It stands between a client and an API server, speaks TLS and
// HTTP/2 on both sides, as a load balancer does, and follows rules: which requests, every how many of them, how often,
// and what to do with them. What no rule applies to passes unchanged.
//
//	proxy := faults.Start(t, cluster.Config())
//	rule := proxy.Inject(faults.Rule{Match: faults.Match{Verbs: faults.Writes()}, Times: 3, Action: faults.Conflict()})
//	must(t, env.Import(ctx, tenant, proxy.Kubeconfig(), labels))
//	...
//	rule.Remove()
//
// The proxy shows its own credentials to the API server, since a client certificate does not pass through: the
// client's rights are those of the configuration that the proxy was started with. The proxy also keeps a log of all
// requests (Proxy.Requests), whatever became of them, so that a test can count writes and attempts.
//
// Servers that cannot be reached at all, because they have no open port or no TLS, are in e2e/bench/faults.
package faults
