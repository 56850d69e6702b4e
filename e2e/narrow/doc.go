// Package narrow runs the whole manager with the narrower variant of its rights, config/narrow: it reads the Secrets of some namespaces
// alone. Customers are in a namespace with the RoleBinding, in one without, and in one that the manager's flag does not have.
package narrow
