// Package kubeconfig turns an untrusted kubeconfig into the little of it that Daytwo uses.
//
// A kubeconfig can make its reader run programs, read files, skip the check of who answers and
// act as somebody else. Whoever wrote it, Parse refuses all of that for the entries that
// current-context names, and drops every other entry unread. What is left, an Access, holds a
// server, its CA and credentials that are embedded in the file: nothing in it makes client-go
// reach for a file or a program of the manager's machine.
//
// The package is pure: no client, no file, no clock. Errors name the field and never hold a
// value that could be secret.
package kubeconfig
