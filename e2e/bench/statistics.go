package main

import (
	"cmp"
	"math"
	"slices"
)

// median of some values; 0 of none.
func median[T cmp.Ordered](values []T) T {
	return percentile(values, 50)
}

// percentile returns the smallest value that at least p percent of the values do not exceed (the
// nearest-rank method), so it is one that was measured. It returns 0 for no values.
func percentile[T cmp.Ordered](values []T, p float64) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// point of a line.
type point struct{ x, y float64 }

// slope of the straight line that fits the points best, by least squares. It needs two different x.
func slope(points []point) float64 {
	var x, y float64
	for _, p := range points {
		x += p.x / float64(len(points))
		y += p.y / float64(len(points))
	}
	var rise, run float64
	for _, p := range points {
		rise += (p.x - x) * (p.y - y)
		run += (p.x - x) * (p.x - x)
	}
	return rise / run
}
