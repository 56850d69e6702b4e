// Package managementserver knows the addresses of the management cluster's API server: the one that the manager itself talks
// to, and those that Kubernetes publishes as the endpoints of the Service kubernetes. No request of its own asks for them. It also
// knows that cluster's identity, which it reads once.
package managementserver
