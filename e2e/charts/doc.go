// Package charts holds Helm charts for tests, the demonstration and benchmarks, each with the life of
// a release in mind. All come in the versions 1.0.0 and 1.1.0.
//
//	web          15 plain objects. 1.1.0 adds one (a NetworkPolicy), changes one (the Deployment's
//	             image) and drops one (the dashboard's ConfigMap).
//	hooks        Jobs, a ConfigMap and Pods as hooks at every event, with weights and all delete
//	             policies, and tests. By values, the pre-upgrade check, the migration or a test fails.
//	             1.1.0 adds a hook and drops one.
//	crds         a definition in crds/, a custom resource of it, and a definition in the templates of a
//	             subchart. 1.1.0 adds a field to the schema in crds/.
//	certificate  a certificate and a password that are made while the chart is rendered, the password
//	             with lookup. 1.1.0 looks the certificate up as well.
//	umbrella     subcharts, one a directory, one an archive, one there twice, with conditions, tags and
//	             imported values, a library and a schema for values. 1.1.0 has a newer subchart.
//	database     a StatefulSet with volumes, a Secret of values (it needs the value password), and a
//	             claim that outlives the release. 1.1.0 adds a PodDisruptionBudget.
//
// The pods of the hooks chart are not to be restarted and end by themselves, on the local fleet's nodes as
// well. Those that are to fail carry the label by which KWOK's stages let pods fail.
//
// A chart is the directory of its name, as version 1.0.0. Later versions lay the files of
// versions/<version> over it, where an empty file takes one away. A directory whose name ends in .tgz
// is packed on its own, as a vendored subchart is.
package charts
