package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// sampleChain is the oldest drills of testdata/chain, whose documents are a chain as the manager writes it.
func sampleChain(t *testing.T, count int) []evidence.Link {
	t.Helper()
	names, err := filepath.Glob("testdata/chain/*.json")
	if err != nil || len(names) < count {
		t.Fatalf("%v, %v", names, err)
	}
	var files []evidence.File
	for _, name := range names[:count] {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, evidence.File{Name: name, Content: content})
	}
	chain, err := evidence.Verify(evidence.Hash(files[count-1].Content), files)
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// bareChain is one drill of which hardly anything is known.
func bareChain() []evidence.Link {
	return []evidence.Link{{Document: evidence.Document{
		Verdict:  "Inconclusive",
		Drill:    evidence.Drill{Namespace: "customer-acme", Name: "prod-2026-11", Policy: "nightly", StartedAt: time.Date(2026, 11, 23, 11, 24, 3, 0, time.UTC)},
		Backup:   evidence.Backup{Cluster: "customer-acme/prod"},
		Restored: evidence.Target{Cluster: "customer-acme/standby", Mode: "Standby"},
		Checks:   []evidence.Check{{Name: "Backup", Result: "NotChecked", Message: "the storage did not answer within 1m0s"}},
	}, Hash: strings.Repeat("5d", 32)}}
}

func render(t *testing.T, chain []evidence.Link) string {
	t.Helper()
	var out bytes.Buffer
	if err := Render(&out, chain); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAReportSaysWhatTheEvidenceHolds(t *testing.T) {
	for name, chain := range map[string][]evidence.Link{
		"passed": sampleChain(t, 5), "failed": sampleChain(t, 2), "inconclusive": sampleChain(t, 1), "bare": bareChain(),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			got := outline(parse(t, render(t, chain)))
			for i, line := range strings.Split(strings.TrimSuffix(string(want), "\n"), "\n") {
				if i >= len(got) || got[i] != line {
					t.Fatalf("line %d of testdata/%s.txt is %q; the whole report says\n%s", i+1, name, line, strings.Join(got, "\n"))
				}
			}
			if count := strings.Count(string(want), "\n"); len(got) != count {
				t.Errorf("the report goes on after line %d:\n%s", count, strings.Join(got[count:], "\n"))
			}
		})
	}
}

func TestTheSameChainGivesTheSameBytes(t *testing.T) {
	chain := sampleChain(t, 5)
	once := render(t, chain)
	if again := render(t, chain); once != again {
		t.Error("the reports differ")
	}
	if afresh := render(t, sampleChain(t, 5)); once != afresh {
		t.Error("a report changes the chain that it shows")
	}
}

func TestAReportIsCompleteInItself(t *testing.T) {
	for node := range parse(t, render(t, sampleChain(t, 5))).Descendants() {
		if slices.Contains([]string{"script", "link", "img", "iframe", "object", "embed", "form", "base", "use", "image"}, node.Data) && node.Type == html.ElementNode {
			t.Errorf("there is a %s", node.Data)
		}
		for _, attribute := range node.Attr {
			if slices.Contains([]string{"src", "href", "style", "action"}, attribute.Key) || strings.HasPrefix(attribute.Key, "on") {
				t.Errorf("%s has %s=%q", node.Data, attribute.Key, attribute.Val)
			}
		}
		if node.Type == html.TextNode && strings.Contains(node.Data, "url(") {
			t.Error("the style sheet loads something")
		}
	}
}

func TestHeadersAndPicturesAreReadOut(t *testing.T) {
	for node := range parse(t, render(t, sampleChain(t, 5))).Descendants() {
		if node.Data == "th" && attribute(node, "scope") == "" {
			t.Errorf("a header has no scope: %s", textOf(node))
		}
		if node.Data == "svg" && attribute(node, "aria-hidden") != "true" && (attribute(node, "role") != "img" || attribute(node, "aria-label") == "") {
			t.Errorf("a picture has no text: %+v", node.Attr)
		}
		if label := attribute(node, "aria-labelledby"); label != "" && byID(node, label) == nil {
			t.Errorf("nothing has the id %s", label)
		}
	}
}

func TestNothingIsWrittenOfAnEmptyChain(t *testing.T) {
	var out bytes.Buffer
	if err := Render(&out, nil); err == nil || out.Len() > 0 {
		t.Errorf("got %v, %q", err, out.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestTheErrorOfTheWriterIsReturned(t *testing.T) {
	if err := Render(brokenWriter{}, bareChain()); err == nil || err.Error() != "the disk is full" {
		t.Errorf("got %v", err)
	}
}

// geometry checks that each length of each picture is one that can be drawn.
func geometry(t *testing.T, page *html.Node) (drawn int) {
	t.Helper()
	for node := range page.Descendants() {
		if node.Namespace != "svg" {
			continue
		}
		for _, key := range []string{"x", "y", "x1", "x2", "y1", "y2", "width", "height"} {
			text := attribute(node, key)
			if text == "" {
				continue
			}
			drawn++
			if value, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64); err != nil || !(value >= 0 && value <= 100) {
				t.Errorf("%s has %s=%q", node.Data, key, text)
			}
		}
	}
	return drawn
}

func TestARecoveryIsToldAsOneWithWhoAskedForIt(t *testing.T) {
	link := evidence.Link{Document: evidence.Document{Drill: evidence.Drill{Namespace: "acme", Name: "lost", Mode: "Recover", RequestedBy: "jane@provider.example"}, Verdict: "Passed"}}
	var page bytes.Buffer
	if err := Render(&page, []evidence.Link{link}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What was recovered", "jane@provider.example"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page.String(), "What was rehearsed") {
		t.Error("a recovery is told as a rehearsal")
	}
}
