//go:build race

package charts

// slack for what is allocated: the race detector has sync.Pool throw away what it is given.
const slack = 30
