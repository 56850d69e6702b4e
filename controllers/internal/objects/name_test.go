package objects

import (
	"strings"
	"testing"
)

func TestShortNames(t *testing.T) {
	for readable, want := range map[string]string{
		"nightly":                         "nightly-2c70e12b",
		"":                                "-2c70e12b",
		"a.-":                             "a-2c70e12b",
		strings.Repeat("n", 60):           strings.Repeat("n", 54) + "-2c70e12b",
		strings.Repeat("n", 53) + ".long": strings.Repeat("n", 53) + "-2c70e12b",
	} {
		if got := ShortName(63, readable, "key"); got != want {
			t.Errorf("%s became %s, not %s", readable, got, want)
		}
	}
	if ShortName(63, "nightly", "key") == ShortName(63, "nightly", "another") {
		t.Error("names of two keys are the same")
	}
}
