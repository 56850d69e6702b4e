// Package process starts, finds again and ends the long-running programs of a
// local fleet.
//
// Every program has a record: a file with its process id and its birth, which
// together name one process beyond doubt, also after the id was used again. A
// program runs only once its record is on disk. Until then a shell holds its
// place, and ends by itself if whoever started it dies; so a starter that is
// killed at any moment leaves no process that nobody knows of.
//
// A program either outlives its starter (Detached) or dies with it (Tied).
// Tied rests on Linux's parent-death signal, which the kernel sends when the
// thread that started the program ends; see launcher. Elsewhere a tied program
// survives a starter that is killed, and is ended through its record by
// whoever opens the same Table next.
package process
