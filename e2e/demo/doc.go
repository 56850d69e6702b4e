// Command demo tells the whole story of Daytwo on this machine, with real API servers and nothing to
// set up before: customers with clusters of their own, an add-on in all of them, people who change it
// by hand, a cluster that dies and comes back, a Helm chart from a registry, a backup that is restored,
// certificates that are renewed, and whose authority is replaced, while they are served, a cluster on order, and an end that leaves nothing
// behind.
//
// The first run downloads or builds the programs of the local fleet. It begins to tell when those of the first acts are there,
// and goes on with the others beside them. With --keep, the fleet stays as it is before the last act.
//
// story.go lists the steps; each is a method of story. Every step checks what it tells: what does
// not happen in time fails the demo.
package main
