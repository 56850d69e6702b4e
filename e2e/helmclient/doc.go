// Package helmclient does what the helm command does, by way of the Helm SDK, and tells what a cluster
// holds afterwards. Differential tests compare that to what Daytwo leaves, and benchmarks compare times.
//
//	client, err := helmclient.New(config, helmclient.Settings{MaxHistory: helmclient.DefaultMaxHistory})
//	name := types.NamespacedName{Namespace: "shop", Name: "acme"}
//	release, err := client.Install(ctx, name, archive, values)
//	view, err := helmclient.Snapshot(ctx, config, helmclient.Scope{Namespaces: []string{"shop"}})
//
// Actions have the options that helm's flags have when nobody sets them: server-side apply for an
// installation, the same method again for what follows, and no wait but for hooks. Nothing of Helm's
// command line is used, so that neither HELM_* variables nor files in anybody's home count.
//
// A Snapshot leaves out what two runs can't have in common, and keeps everything else.
package helmclient
