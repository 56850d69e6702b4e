// Package manifests reads Kubernetes objects from YAML files and applies them
// to a cluster in an order that works.
package manifests
