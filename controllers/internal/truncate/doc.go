// Package truncate shortens what comes from others: texts to what fits, and lists of names to the first few. It takes out of
// errors what is different in each attempt. All messages of statuses pass through it.
//
// The API server refuses an Event whose note is longer than 1024 bytes, and nobody would hear of it.
package truncate
