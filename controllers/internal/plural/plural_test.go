package plural

import "testing"

func TestNumbersAgree(t *testing.T) {
	for want, got := range map[string]string{
		"1 object": Of(1, "object"), "0 objects": Of(0, "object"), "2 clusters": Of(int32(2), "cluster"),
		"1 object is": Of(1, "object|is|are"), "2 objects are": Of(int64(2), "object|is|are"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
