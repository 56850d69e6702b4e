// Package plural counts in words that agree in number. It is pure.
package plural

import (
	"fmt"
	"strings"
)

// Integer is a count.
type Integer interface{ ~int | ~int32 | ~int64 }

// Of is a count and its noun, as in "1 object" and "2 objects". The noun is one whose plural ends in s. What follows a "|" in
// it is a verb, or what else goes with the noun, in the singular, and then in the plural: "object|is|are".
func Of[N Integer](count N, noun string) string {
	noun, forms, _ := strings.Cut(noun, "|")
	singular, many, hasForms := strings.Cut(forms, "|")
	with := many
	if count == 1 {
		with = singular
	} else {
		noun += "s"
	}
	if !hasForms {
		return fmt.Sprintf("%d %s", count, noun)
	}
	return fmt.Sprintf("%d %s %s", count, noun, with)
}
