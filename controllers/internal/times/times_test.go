package times

import (
	"testing"
	"time"
)

func TestZeroIsNever(t *testing.T) {
	var never time.Time
	soon := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later := soon.Add(time.Second)
	for _, row := range []struct{ a, b, want time.Time }{
		{never, never, never}, {soon, never, soon}, {never, soon, soon}, {soon, later, soon}, {later, soon, soon}, {soon, soon, soon},
	} {
		if got := Earliest(row.a, row.b); !got.Equal(row.want) {
			t.Errorf("of %s and %s: %s", row.a, row.b, got)
		}
	}
}
