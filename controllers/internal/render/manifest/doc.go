// Package manifest turns the text that an add-on renders to into objects, and says what is wrong where it cannot. It reads
// text alone: package render makes it, in worker processes.
package manifest
