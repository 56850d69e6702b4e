// Package precondition writes the UID of an object into what is sent to change it, so that an API server changes that object and
// no other of its name. It is pure.
package precondition
