package evidence

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// chain are the documents of so many drills.
func chain(t *testing.T, count int) (head string, files []File) {
	t.Helper()
	for i := range count {
		document := Document{Previous: head, Verdict: "Passed", Drill: Drill{Name: fmt.Sprintf("drill-%d", i), StartedAt: time.Unix(int64(i), 0).UTC()}}
		content, err := document.Encode()
		if err != nil {
			t.Fatal(err)
		}
		head = Hash(content)
		files = append(files, File{Name: fmt.Sprintf("drill-%d.json", i), Content: content})
	}
	return head, files
}

func TestAChainHoldsInAnyOrderOfItsFiles(t *testing.T) {
	head, files := chain(t, 4)
	slices.Reverse(files)
	links, err := Verify(head, files)
	if err != nil || len(links) != 4 || links[0].Drill.Name != "drill-0" || links[3].Hash != head {
		t.Errorf("got %+v, %v", links, err)
	}
}

func TestWhatWasDoneToAChainIsFound(t *testing.T) {
	head, files := chain(t, 4)
	older, _ := chain(t, 3)
	changed := slices.Clone(files)
	changed[1].Content = bytes.Replace(changed[1].Content, []byte("Passed"), []byte("Failed"), 1)
	spaced := slices.Clone(files)
	spaced[2].Content = append(slices.Clone(spaced[2].Content), '\n')
	newest := slices.Clone(files)
	newest[3].Content = bytes.Replace(newest[3].Content, []byte("Passed"), []byte("Failed"), 1)
	for name, row := range map[string]struct {
		head  string
		files []File
		want  string
	}{
		"a verdict was changed":        {head, changed, "the document before drill-2.json is missing, or was changed"},
		"a space was added":            {head, spaced, "the document before drill-3.json is missing, or was changed"},
		"the newest was changed":       {head, newest, "the newest document is missing, or was changed"},
		"the newest was cut off":       {head, files[:3], "the newest document is missing, or was changed"},
		"the oldest was cut off":       {head, files[1:], "the document before drill-1.json is missing, or was changed"},
		"one in the middle is missing": {head, slices.Concat(files[:1], files[2:]), "the document before drill-2.json is missing"},
		"one came after the head":      {older, files, "drill-3.json does not belong to the chain"},
		"one is there twice":           {head, append(slices.Clone(files), File{Name: "copy.json", Content: files[0].Content}), "copy.json is the same document as drill-0.json"},
		"something else":               {head, append(slices.Clone(files), File{Name: "x", Content: []byte("{}")}), "x is no evidence of a drill"},
		"a field too many":             {head, append(slices.Clone(files), File{Name: "x", Content: []byte(`{"version":"` + Version + `","more":1}`)}), "x is no evidence of a drill"},
		"two documents in one":         {head, append(slices.Clone(files), File{Name: "x", Content: slices.Concat(files[0].Content, files[1].Content)}), "more follows after the document"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Verify(row.head, row.files); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
