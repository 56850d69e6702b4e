// Package render turns what an add-on holds, manifest templates or a Helm chart, and what is known
// of a cluster into the objects to apply there. Both are untrusted: they run in worker processes
// that hold no credentials, can open no file and no connection, and are killed when they exceed a
// limit, so a bad template costs its own target only.
//
// # Templates
//
// A source is a Go template (text/template) that yields YAML or JSON, any number of documents.
// It knows
//
//	.Cluster.Name .Cluster.Namespace .Cluster.Labels .Cluster.Version ("1.36")
//
// and nothing else; an unknown key is an error that names it. Beside the functions of
// text/template there are those listed in package functions. All are pure: none reaches the network,
// the environment, a file or a clock, and none is random, so the same request always renders to
// the same objects. A label that some clusters lack, or whose name has dots or slashes, is read
// with get, which yields "" for a missing one, or index, for which a missing one is an error:
//
//	tier: {{ get .Cluster.Labels "tier" | default "bronze" }}
//	zone: {{ index .Cluster.Labels "topology.kubernetes.io/zone" }}
//
// Each source stands alone: what it defines is not seen by the others.
//
// # Charts
//
// A chart is loaded and rendered by Helm's own packages and means what it means to `helm install`:
// values, conditions and tags of subcharts, schema, hooks, notes and record. Only this differs:
//
//   - Layers of values are templates, as a source is, in each of their strings, though not in keys.
//     What one yields is a string. Two braces that are meant for the chart are written {{ "{{" }}.
//   - The cluster's version is its minor version; a chart sees v1.36.0.
//   - keys and values give a sorted list, getHostByName "", and a schema that refers to a file or an
//     address is refused.
//   - lookup asks a function of the caller's, through the pipe between worker and manager.
//   - Archives are checked before Helm unpacks them; see chart_archive.go for what they may hold.
//   - Objects have to be valid ones, each there once, and generateName is refused, as for templates.
//
// A chart can be random, read the clock, and ask for its revision, so every chart is rendered
// twice, with all of that changed; RenderedChart.Volatile tells whether it made a difference.
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
// pipe from the manager closes, which also happens when the manager is killed. Only they unpack an
// archive, never the manager.
package render
