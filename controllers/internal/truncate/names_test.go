package truncate

import "testing"

func TestNamesThatAreLeftOutAreCounted(t *testing.T) {
	for want, got := range map[string]string{
		"":                Names(nil, 2),
		"a":               Names([]string{"a"}, 2),
		"a, b":            Names([]string{"a", "b"}, 2),
		"a, b and 1 more": Names([]string{"a", "b", "c"}, 2),
		"a; b and 5 more": First([]string{"a", "b"}, "; ", 7),
		"a; b":            First([]string{"a", "b"}, "; ", 2),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
