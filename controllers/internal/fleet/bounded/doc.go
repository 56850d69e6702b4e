// Package bounded bounds what is read of the answers of a workload cluster, before it is decoded: bytes, JSON values, and
// bytes and requests a second. Whatever answers may be broken, or mean harm.
//
// A [RoundTripper] bounds each answer, a [Pace] what a cluster costs over time. A [Reader] reads lists and watches object by
// object, so that none is in memory whole before its size is known. Large answers of a cluster are read in turns, one at
// a time.
package bounded
