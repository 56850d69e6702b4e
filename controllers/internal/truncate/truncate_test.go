package truncate

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"aaüü", 5, "aa…"}, // A character has more than one byte,
		{"aaüü", 6, "aaüü"},
		{"longer", 3, "…"},
		{"longer", 2, "lo"}, // and so has the mark.
		{"longer", 0, ""},
		{"longer", -1, ""},
	} {
		if got := Cut(test.text, test.most); got != test.want {
			t.Errorf("%q became %q, want %q", test.text, got, test.want)
		}
	}
}

func TestWhatIsCutNeverExceedsTheBound(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 100), strings.Repeat("ü", 50), strings.Repeat("…", 40), strings.Repeat("𐍈", 30), strings.Repeat("\xff", 100), "a" + strings.Repeat("\xe2\x80", 60)} {
		for most := range 110 {
			for _, got := range []string{Cut(text, most), Message(text, most)} {
				if len(got) > most {
					t.Errorf("%q is cut to %d bytes: %d", text, most, len(got))
				}
				if len(text) > most && !utf8.ValidString(got) {
					t.Errorf("%q is cut to %d bytes: %q is no text", text, most, got)
				}
			}
		}
	}
}

// notes that were made Events of.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	*n = append(*n, fmt.Sprintf(note, args...))
}

func TestNotesAreCutToWhatTheAPIServerTakes(t *testing.T) {
	var made notes
	recorder := Recorder(&made)
	recorder.Eventf(nil, nil, "Warning", "NotWaitedFor", "Delete", "%s: %s", "FinalBackup", "100%")
	recorder.Eventf(nil, nil, "Warning", "NotWaitedFor", "Delete", "%s: %s", "FinalBackup", strings.Repeat("ü", 1024))
	if made[0] != "FinalBackup: 100%" {
		t.Errorf("a note that fits became %q", made[0])
	}
	if last := made[1]; len(last) > 1024 || len(last) < 1000 || !utf8.ValidString(last) || !strings.HasSuffix(last, "ü…") {
		t.Errorf("a long one became %d bytes: %q", len(last), last)
	}
}
