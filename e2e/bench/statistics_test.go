package main

import (
	"math"
	"testing"
)

func TestPercentileIsAValueThatWasMeasured(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	tests := map[string]struct {
		values []int
		p      float64
		want   int
	}{
		"none":                       {nil, 50, 0},
		"one":                        {[]int{7}, 99, 7},
		"the middle":                 {[]int{3, 1, 2}, 50, 2},
		"the lower of two":           {[]int{1, 2}, 50, 1},
		"of a hundred":               {hundred, 50, 50},
		"only one of a hundred more": {hundred, 99, 99},
		"all of them":                {hundred, 100, 100},
		"the least":                  {hundred, 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := percentile(test.values, test.p); got != test.want {
				t.Errorf("percentile(%v) = %d, want %d", test.p, got, test.want)
			}
		})
	}
}

func TestPercentileLeavesTheValuesInTheirOrder(t *testing.T) {
	values := []int{3, 1, 2}
	percentile(values, 50)
	if values[0] != 3 {
		t.Errorf("the values were sorted in place: %v", values)
	}
}

func TestSlopeFitsALine(t *testing.T) {
	tests := map[string]struct {
		points []point
		want   float64
	}{
		"through two points":     {[]point{{5, 10}, {10, 20}}, 2},
		"apart from an offset":   {[]point{{5, 110}, {10, 120}, {20, 140}}, 2},
		"flat":                   {[]point{{1, 4}, {2, 4}, {3, 4}}, 0},
		"in the middle of noise": {[]point{{0, 1}, {1, 0}, {2, 3}, {3, 2}}, 0.6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := slope(test.points); math.Abs(got-test.want) > 1e-9 {
				t.Errorf("slope = %v, want %v", got, test.want)
			}
		})
	}
}
