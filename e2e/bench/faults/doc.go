// Package faults has servers in the place of API servers that cannot be reached, each for another reason,
// and with a kubeconfig of its own. They count how often somebody tries.
package faults
