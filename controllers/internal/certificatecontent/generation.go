package certificatecontent

import (
	"strconv"
	"strings"
)

// generationMark precedes the generation of the authority at the end of an issuance's name.
const generationMark = "-g"

// GenerationMark is the end of the name of an issuance that is from an authority of the bundle's own; empty for generation 0, which
// is none of these.
func GenerationMark(generation int64) string {
	if generation == 0 {
		return ""
	}
	return generationMark + strconv.FormatInt(generation, 10)
}

// GenerationOf is the generation of the authority that an issuance is from, by its name; 0 for none of the bundle's own.
func GenerationOf(issuance string) int64 {
	at := strings.LastIndex(issuance, generationMark)
	if at < 0 {
		return 0
	}
	generation, err := strconv.ParseInt(issuance[at+len(generationMark):], 10, 64)
	if err != nil || generation < 1 || GenerationMark(generation) != issuance[at:] {
		return 0
	}
	return generation
}
