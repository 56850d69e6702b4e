// Package brief shortens texts that come from others to what fits.
//
// The API server refuses an Event whose note is longer than 1024 bytes, and nobody would hear of it.
package brief
