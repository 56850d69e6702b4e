// Package precondition writes the UID of an object into what is sent to change it, so that an API server changes that object and
// no other of its name, or makes one and changes none. It is pure.
package precondition
