// Package environment is a local fleet of real clusters with the manager at work on it: what the
// demo, the benchmark and the end-to-end tests stand on.
//
// The manager is a process of its own, built from this repository, and has the rights of the
// generated roles and no others. Everything ends with the program that started it, even if that is
// killed.
//
//	env, err := environment.Start(ctx, environment.Options{StateDir: t.TempDir(), Clusters: 2})
//	...
//	defer env.Close()
//	err = env.Register(ctx, "customer-acme", "workload-1", map[string]string{"tier": "gold"})
package environment
