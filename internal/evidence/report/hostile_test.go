package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// attack tries to leave every place that a text of a document can be in.
const attack = `</title></style></td>"'><script>alert(1)</script><img src=x onerror=alert(1)>{{.}}${x}--><svg onload=alert(1)>`

// hostileChain has the attack wherever a document has a text, and a list is longer than it may be.
func hostileChain(text string) []evidence.Link {
	began, ended := time.Unix(100, 0), time.Unix(50, 0)
	document := evidence.Document{
		Previous: text, Verdict: text, DataAge: text, RestoreTime: text, RecoveryTime: text, RPO: text, RTO: text,
		Drill:    evidence.Drill{Namespace: text, Name: text, UID: text, Policy: text, StartedAt: began},
		Backup:   evidence.Backup{Cluster: text, Name: text, Prefix: text, Items: -1, TakenAt: &ended},
		Restored: evidence.Target{Cluster: text, ClusterID: text, Mode: text, Namespaces: map[string]string{}},
	}
	for i := range 1000 {
		document.Restored.Namespaces[fmt.Sprint(i, text)] = text
		document.Restored.LeftOut = append(document.Restored.LeftOut, text)
		document.Checks = append(document.Checks, evidence.Check{Name: text, Result: text, Message: text})
		document.Timeline = append(document.Timeline, evidence.Step{Name: text, Object: text, Outcome: text, StartedAt: began, EndedAt: &ended})
	}
	return []evidence.Link{{Document: document, Hash: strings.Repeat("5d", 32), File: text}}
}

func TestHostileTextStaysText(t *testing.T) {
	harmless, hostile := parse(t, render(t, hostileChain("x"))), parse(t, render(t, hostileChain(attack)))
	for _, name := range []string{"script", "img", "style", "title", "svg", "td", "table", "main"} {
		if got, want := len(elements(hostile, name)), len(elements(harmless, name)); got != want {
			t.Errorf("there are %d elements %s, and %d where the text is harmless", got, name, want)
		}
	}
	for node := range hostile.Descendants() {
		for _, one := range node.Attr {
			if strings.HasPrefix(one.Key, "on") || one.Key == "src" {
				t.Errorf("%s has the attribute %s", node.Data, one.Key)
			}
		}
	}
	if !strings.Contains(textOf(hostile), "<img src=x onerror=alert(1)>") {
		t.Error("the text is not shown as it is")
	}
	if geometry(t, hostile) == 0 {
		t.Error("nothing was drawn")
	}
}

func TestALongDocumentIsCutAndSaysSo(t *testing.T) {
	content := render(t, hostileChain(strings.Repeat("Ω", 100_000)))
	if len(content) > 2<<20 {
		t.Errorf("the report has %d bytes", len(content))
	}
	for what, more := range map[string]int{"checks": 1000 - maxChecks, "steps": 1000 - maxSteps, "namespaces": 1000 - maxNamespaces, "resources": 1000 - maxLeftOut} {
		if want := fmt.Sprintf("The document has %d more, which are not shown.", more); !strings.Contains(content, want) {
			t.Errorf("it does not tell of the %d %s that it does not show", more, what)
		}
	}
}

func TestCharactersThatAreNotSeenAreShown(t *testing.T) {
	for text, want := range map[string]string{
		"prod":                  "prod",
		"Grüße, 世界":             "Grüße, 世界",
		"a\u202edessaP":         "a\ufffddessaP",
		"a\u200bb\x00c\nd":      "a\ufffdb\ufffdc\ufffdd",
		strings.Repeat("ä", 9):  strings.Repeat("ä", 9),
		strings.Repeat("ä", 11): strings.Repeat("ä", 10) + "…",
	} {
		if got := plain(text, 10); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestAReportDoesNotChangeTheChain(t *testing.T) {
	chain := hostileChain("a\u202eb")
	render(t, chain)
	document := chain[0].Document
	for _, text := range []string{document.Verdict, document.Checks[0].Message, document.Timeline[0].Name, document.Restored.LeftOut[0], document.Restored.Namespaces["0a\u202eb"]} {
		if text != "a\u202eb" {
			t.Errorf("it has %q", text)
		}
	}
}

func TestTheChainOfManyDrillsHasARowForEach(t *testing.T) {
	chain := make([]evidence.Link, 500)
	for i := range chain {
		chain[i].Drill.Name = fmt.Sprintf("drill-%d", i)
	}
	tables := elements(parse(t, render(t, chain)), "table")
	rows := elements(tables[len(tables)-1], "tr")
	if len(rows) != 501 || !strings.Contains(textOf(rows[1]), "drill-499") || !strings.Contains(textOf(rows[500]), "drill-0") {
		t.Errorf("there are %d rows, from %q to %q", len(rows), text(rows, 1), text(rows, len(rows)-1))
	}
}

func text(rows []*html.Node, i int) string {
	if i >= len(rows) {
		return ""
	}
	return textOf(rows[i])
}
