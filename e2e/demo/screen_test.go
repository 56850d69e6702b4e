package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestDurationsEndInOneColumn(t *testing.T) {
	for _, line := range []string{
		timed("  ✓ plain", 42*time.Millisecond),
		timed("\x1b[32m  ✓ \x1b[0mplain", 3*time.Second),
		timed("  ✓ "+strings.Repeat("ü", 40), 1500*time.Microsecond),
	} {
		visible := strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(line)
		if got := len([]rune(visible)); got != column {
			t.Errorf("%q is %d characters wide, want %d", line, got, column)
		}
	}
}

func TestPlainScreenHasNoEscapes(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, last: time.Now()}
	s.Heading("a step")
	if err := s.Do("working", func() (done, error) { return done{text: "worked"}, nil }); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no")
	if err := s.Do("working", func() (done, error) { return done{}, failure }); !errors.Is(err, failure) {
		t.Errorf("Do hides the error: %v", err)
	}
	s.Command("kubectl get all")
	if strings.ContainsAny(out.String(), "\x1b\r") || !strings.Contains(out.String(), "✓ worked") || !strings.Contains(out.String(), "✗ working") {
		t.Errorf("%q", out.String())
	}
}

func TestRenderTableLooksLikeKubectl(t *testing.T) {
	table := &metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Format: "name"}, {Name: "Wide", Priority: 1}, {Name: "Failed"}, {Name: "Ready"},
		},
		Rows: []metav1.TableRow{{
			Cells:  []any{"cache", "hidden", nil, "True"},
			Object: runtime.RawExtension{Raw: []byte(`{"metadata":{"name":"cache","namespace":"daytwo-system"}}`)},
		}},
	}
	got, err := renderTable(table, "saasaddon.addons.daytwo.dev")
	if err != nil {
		t.Fatal(err)
	}
	want := "NAMESPACE       NAME                                FAILED   READY\n" +
		"daytwo-system   saasaddon.addons.daytwo.dev/cache            True\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	table.Rows = nil
	if got, err := renderTable(table, "saasaddon.addons.daytwo.dev"); got != "" || err != nil {
		t.Errorf("of a kind without objects it shows %q (%v)", got, err)
	}
}
