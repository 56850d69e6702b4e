//go:build !race

package charts

const slack = 1
