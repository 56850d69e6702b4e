// Package expect is what the tests of the whole system have in common: how they start, and how they wait for what
// should be so.
package expect
