package report

import (
	"testing"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

func TestAVerdictIsSaidToProveWhatItProves(t *testing.T) {
	failed := func(names ...string) (checks []evidence.Check) {
		for _, name := range names {
			checks = append(checks, evidence.Check{Name: name, Result: "Failed"})
		}
		return append(checks, evidence.Check{Name: "Backup", Result: "Passed"}, evidence.Check{Name: "Volumes", Result: "NotChecked"})
	}
	for name, row := range map[string]struct {
		document evidence.Document
		want     string
	}{
		"a contradiction":   {evidence.Document{Verdict: "Passed", Checks: failed("Digests")}, "Backup b of cluster c was restored into cluster not known in a time that is not known, with data that was an unknown time old; 1 of 3 checks passed."},
		"one check failed":  {evidence.Document{Verdict: "Failed", Checks: failed("Digests")}, "This drill does not prove that cluster c can be recovered: the check Digests failed."},
		"three failed":      {evidence.Document{Verdict: "Failed", Checks: failed("Digests", "Readiness", "RTO")}, "This drill does not prove that cluster c can be recovered: the checks Digests, Readiness and RTO failed."},
		"none is named":     {evidence.Document{Verdict: "Failed"}, "This drill does not prove that cluster c can be recovered: the document does not tell which check failed."},
		"one was not made":  {evidence.Document{Verdict: "Inconclusive", Checks: failed()}, "This drill proves neither that cluster c can be recovered nor that it cannot: the check Volumes could not be made."},
		"an unknown word":   {evidence.Document{Verdict: "Perfect"}, `The document has the verdict "Perfect", of which this program does not know what it proves.`},
		"no verdict at all": {evidence.Document{}, `The document has the verdict "", of which this program does not know what it proves.`},
	} {
		t.Run(name, func(t *testing.T) {
			row.document.Backup = evidence.Backup{Name: "b", Cluster: "c"}
			if got := proofOf(bounded(evidence.Link{Document: row.document})); got != row.want {
				t.Errorf("got %s\nwant %s", got, row.want)
			}
		})
	}
}
