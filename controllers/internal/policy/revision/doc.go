// Package revision stores a policy's content as immutable, compressed Secrets that all of its
// targets share.
//
// A revision is named `<policy>-<10 hex>` after the SHA-256 of its canonical content, so the same
// content is the same revision, and writing it twice writes it once. Its first Secret has the
// revision's name, the others `<name>-1`, `<name>-2`, …
//
// The first Secret is written last and removed first: a revision whose first Secret exists was
// written completely, whenever the manager died. It holds the number of Secrets and the digest of the
// whole, so that a set that somebody tore apart is noticed when it is read.
//
// Chunks are cut from the content before it is compressed. So a set begun by one release of the
// manager can be finished by another whose compressor gives other bytes, and nothing that is read
// inflates beyond a chunk's size.
package revision
