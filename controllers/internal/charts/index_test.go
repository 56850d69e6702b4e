package charts

import (
	"fmt"
	"strings"
	"testing"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// collect reads an index of any size line by line.
func collect(t *testing.T, text, chart string) ([]entry, bool, error) {
	t.Helper()
	var entries []entry
	there, err := readOutline(strings.NewReader(text), chart, func(e entry) { entries = append(entries, e) })
	return entries, there, err
}

// bigIndex has a few charts whose fields are of all sorts.
func bigIndex(t *testing.T, versions int) string {
	t.Helper()
	s := newShop(t, "")
	for _, name := range []string{"app", "web", "web-2", "zoo"} {
		for i := range versions {
			metadata := &chart.Metadata{
				APIVersion: "v2", Name: name, Version: fmt.Sprintf("1.%d.0+b%d", i, i),
				Description: "entries:\n  web:\n  - version: 9.9.9\n\n# not a comment\n" + strings.Repeat("long and wide ", 20),
				Icon:        "data:image/png;base64," + strings.Repeat("A", 100),
				Keywords:    []string{"- version: 8.8.8", "urls:", "{", "*a"},
				Maintainers: []*chart.Maintainer{{Name: "web:", Email: "\"quoted\" 'twice' \\ é"}},
				Annotations: map[string]string{"version": "7.7.7", "changes": "- kind: added\n  urls:\n    - https://x\n", "digest": "0"},
				Sources:     []string{"https://example.com/#x", "https://example.com/a: b"},
			}
			if err := s.index.MustAdd(metadata, fmt.Sprintf("%s-%d.tgz", name, i), "https://charts.test/files", fmt.Sprintf("%064x", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return string(s.text(t))
}

func TestOutlineReadsWhatAParserReads(t *testing.T) {
	text := bigIndex(t, 20)
	for _, name := range []string{"app", "web", "web-2", "zoo", "none"} {
		var parsed []entry
		parsedThere, err := readYAML([]byte(text), name, func(e entry) { parsed = append(parsed, e) })
		if err != nil {
			t.Fatal(err)
		}
		outlined, there, err := collect(t, text, name)
		if err != nil {
			t.Fatal(err)
		}
		if there != parsedThere || fmt.Sprint(outlined) != fmt.Sprint(parsed) {
			t.Errorf("%s: the outline has %t %v\nwant %t %v", name, there, outlined, parsedThere, parsed)
		}
		if name != "none" && len(outlined) != 20 {
			t.Errorf("%s: %d versions", name, len(outlined))
		}
	}
}

func TestOutlineReadsTheLayoutsOfOtherPrograms(t *testing.T) {
	want := fmt.Sprint([]entry{{Version: "1.0.0", URL: "web-1.0.0.tgz", Digest: "ab"}, {Version: "1.1.0", URL: "web-1.1.0.tgz"}})
	for name, text := range map[string]string{
		"indented sequences": "entries:\n    web:\n        - version: 1.0.0\n          digest: ab\n          urls:\n              - web-1.0.0.tgz\n        - version: 1.1.0\n          urls:\n            - web-1.1.0.tgz\n",
		"quotes":             "\"entries\":\n  'web':\n  - \"version\": \"1.0.0\"\n    \"digest\": 'ab'\n    \"urls\":\n    - \"web-1.0.0.tgz\"\n  - \"urls\": [\"web-1.1.0.tgz\", \"b\"]\n    \"version\": \"1.1.0\"\n",
		"lone dashes":        "entries:\n  web:\n  -\n    version: 1.0.0\n    digest: ab\n    urls:\n    - web-1.0.0.tgz\n  -\n    urls:\n    - web-1.1.0.tgz\n    - other\n    version: 1.1.0\n",
		"Windows":            "---\r\nentries: # all\r\n  other: []\r\n  web: # this\r\n  - version: 1.0.0 # old\r\n    digest: ab\r\n    urls:\r\n    - web-1.0.0.tgz\r\n  - version: 1.1.0\r\n    urls:\r\n    - web-1.1.0.tgz\r\ngenerated: now\r\n",
		"urls first":         "generated: now\nentries:\n  web:\n  - urls:\n    - web-1.0.0.tgz\n    sources:\n    - https://x\n    version: 1.0.0\n    digest: ab\n  - maintainers:\n    - name: x\n      version: 9\n    urls:\n    - web-1.1.0.tgz\n    version: 1.1.0\n  zoo:\n  - version: 3.0.0",
	} {
		entries, there, err := collect(t, text, "web")
		if err != nil || !there || fmt.Sprint(entries) != want {
			t.Errorf("%s: got %v, %t, %v", name, entries, there, err)
		}
	}
}

func TestOutlineRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{
		"entries: {web: [{version: 1.0.0}]}\n",
		"entries:\n  web: [{version: 1.0.0}]\n",
		"entries:\n  web:\n  - {version: 1.0.0}\n",
		"entries:\n  web:\n  - &a\n    version: 1.0.0\n",
		"entries:\n  web:\n  - version: *v\n",
		"entries:\n  web:\n  - version: [1]\n",
		"entries:\n    web:\n  - version: 1.0.0\n",
		"entries:\n  web:\n    version: 1.0.0\n",
		"<html>\n<p>entries:</p>\n",
		`{"entries": {}}`,
	} {
		entries, _, err := collect(t, text, "web")
		if _, ok := err.(*malformedError); !ok {
			t.Errorf("%q: got %v, %v", text, entries, err)
		}
	}
}

func TestLargeIndexIsReadInLittleMemory(t *testing.T) {
	one := bigIndex(t, 300)
	// Further charts, up to about 30 MB.
	text := &strings.Builder{}
	text.WriteString("apiVersion: v1\n" + one[strings.Index(one, "entries:"):strings.Index(one, "generated:")])
	_, body, _ := strings.Cut(one, "  app:\n")
	body = body[:strings.Index(body, "  web:\n")]
	for i := 0; text.Len() < 30_000_000; i++ {
		fmt.Fprintf(text, "  more-%d:\n%s", i, body)
	}
	f := NewFetcher(Options{})
	choice := &selection[entry]{parse: parseLeniently}
	choice.wanted, _ = parseWanted("1.x")
	var there bool
	var err error
	used := allocated(func() {
		there, err = f.readIndex(t.Context(), strings.NewReader(text.String()), "web", func(e entry) { choice.offer(e.Version, e) })
	})
	if err != nil || !there || choice.text != "1.299.0+b299" || choice.choice.URL != "https://charts.test/files/web-299.tgz" {
		t.Errorf("got %t, %v, %q, %v", there, err, choice.text, choice.choice)
	}
	t.Logf("%d MB of index, %d MB allocated in all", text.Len()/1e6, used/1e6)
	if used > slack*3*int64(text.Len()) {
		t.Errorf("%d bytes were allocated", used)
	}
}

func TestSmallHostileIndexTakesLittleMemory(t *testing.T) {
	f := NewFetcher(Options{})
	for name, text := range map[string]string{
		"flow":    "entries: [" + strings.Repeat("a,", wholeIndex/2-10) + "]",
		"deep":    "entries: " + strings.Repeat("[", wholeIndex-10),
		"maps":    "entries: {" + strings.Repeat("?,", wholeIndex/2-10) + "}",
		"block":   "entries:\n" + strings.Repeat("- a\n", wholeIndex/4-10),
		"aliases": "a: &a [" + strings.Repeat("a,", 50000) + "]\nentries:\n  web:\n" + strings.Repeat("  - urls: *a\n", 25000),
		"merges":  "a: &a {" + strings.Repeat("a: b,", 40000) + "}\nentries:\n  web:\n" + strings.Repeat("  - *a\n", 25000),
		"JSON":    `{"entries": {"web": [` + strings.Repeat("{},", wholeIndex/3-10) + `{}]}}`,
	} {
		if len(text) > wholeIndex {
			t.Fatalf("%s has %d bytes", name, len(text))
		}
		used := allocated(func() {
			_, _ = f.readIndex(t.Context(), strings.NewReader(text), "web", func(entry) {})
		})
		t.Logf("%s: %d MB", name, used/1e6)
		if used > slack*200e6 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}

func TestIndexOfTheLargestSizeIsReadInLittleMemory(t *testing.T) {
	f := NewFetcher(Options{})
	for name, piece := range map[string]string{
		"flow": "a,", "lines": "\n", "items": "  - version: 1.0.0\n", "names": "  a:\n", "deep": "   - -\n", "root": "a:\n",
	} {
		text := "entries:\n  web:\n" + strings.Repeat(piece, 4<<20/len(piece))
		used := allocated(func() {
			_, _ = f.readIndex(t.Context(), strings.NewReader(text), "web", func(entry) {})
		})
		t.Logf("%s: %d MB for %d MB", name, used/1e6, len(text)/1e6)
		if used > slack*20e6 {
			t.Errorf("%s: %d bytes were allocated", name, used)
		}
	}
}
