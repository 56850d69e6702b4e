// Package render turns manifest templates and what is known of a cluster into the objects to
// apply there. Templates are untrusted: they run in worker processes that hold no credentials
// and are killed when they exceed a limit, so a bad template costs its own target only.
//
// # Templates
//
// A source is a Go template (text/template) that yields YAML or JSON, any number of documents.
// It knows
//
//	.Cluster.Name .Cluster.Namespace .Cluster.Labels .Cluster.Version ("1.36")
//
// and nothing else; an unknown key is an error that names it. Beside the functions of
// text/template there are those listed in functions.go. All are pure: none reaches the network,
// the environment, a file or a clock, and none is random, so the same request always renders to
// the same objects. A label that some clusters lack, or whose name has dots or slashes, is read
// with get, which yields "" for a missing one, or index, for which a missing one is an error:
//
//	tier: {{ get .Cluster.Labels "tier" | default "bronze" }}
//	zone: {{ index .Cluster.Labels "topology.kubernetes.io/zone" }}
//
// Each source stands alone: what it defines is not seen by the others.
//
// # Workers
//
// A Pool runs its own program again with the argument render-worker, so main has to call
// WorkerMain when it sees that, before anything else:
//
//	if len(os.Args) > 1 && os.Args[1] == render.WorkerArgument {
//		os.Exit(render.WorkerMain(os.Args[2:]))
//	}
//
// Workers live on from one request to the next, have an empty environment, and end when the
// pipe from the manager closes, which also happens when the manager is killed.
package render
