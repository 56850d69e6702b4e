// Package download fetches programs as their publishers built them: over HTTPS, within bounds of time and size, and
// checked against a checksum before anything of them is used.
//
// A checksum that is pinned in the repository decides alone. Without one the checksum is what the publisher's host says
// over TLS, which notices a file that was cut off or replaced, but not a host that lies. A file of which neither tells a
// checksum is not fetched.
package download
