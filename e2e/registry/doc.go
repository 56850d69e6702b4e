// Package registry serves charts on the loopback address as both of what charts come from: an OCI
// registry, and a chart repository with an index. It speaks TLS with an authority of its own, asks for
// a password if told to, counts what is fetched, and can stall.
//
//	server, err := registry.Start(ctx, registry.Options{})
//	published, err := server.Push(archive)       // in both
//	server.OCI()                                 // oci://127.0.0.1:<port>/charts
//	server.HTTPS()                               // https://127.0.0.1:<port>/repo/
//	server.CA()                                  // for whoever is to trust it
//	server.Downloads("web", "1.0.0")             // how many times the archive was fetched
package registry
