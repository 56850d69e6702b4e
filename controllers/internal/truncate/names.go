package truncate

import (
	"fmt"
	"strings"
)

// Names joins names with commas: at most so many, and how many more there are, as in "a, b and 3 more".
func Names(names []string, most int) string {
	return First(names[:min(len(names), most)], ", ", len(names))
}

// First joins the first of so many texts, and says how many more there are.
func First(first []string, separator string, count int) string {
	text := strings.Join(first, separator)
	if more := count - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
