// Package truncate shortens texts that come from others to what fits, and takes out of errors what is different in
// each attempt. All messages of statuses pass through it.
//
// The API server refuses an Event whose note is longer than 1024 bytes, and nobody would hear of it.
package truncate
