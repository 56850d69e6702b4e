// Package certificates tests what the manager does with certificates: the whole manager, as a process, and the real
// cert-manager.
package certificates
