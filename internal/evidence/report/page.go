package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// page is what the layout shows: of the newest drill everything, of all drills a row.
type page struct {
	Newest  drill
	Verdict mark
	// Proof says in a sentence what the verdict means.
	Proof    string
	Facts    []fact
	Measures []measure
	Checks   []check
	Timeline timeline
	// Drills are all of the chain, the newest first.
	Drills []entry
}

// fact is a name and what it stands for in this drill.
type fact struct {
	Name, Value string
}

type check struct {
	Name, Message string
	Mark          mark
}

// entry is a drill among the others of the chain.
type entry struct {
	StartedAt, Drill, Backup, RPO, RTO, Hash string
	Verdict                                  mark
}

func pageOf(chain []evidence.Link) page {
	d := bounded(chain[len(chain)-1])
	p := page{Newest: d, Verdict: markOf(d.Verdict), Proof: proofOf(d), Facts: factsOf(d), Timeline: timelineOf(d)}
	p.Measures = []measure{
		measureOf("RPO", "How old the data was that came back: from the start of the backup to the start of the drill.", d.DataAge, d.RPO, resultOf(d, "RPO")),
		measureOf("RTO", rtoMeaning(d), d.RecoveryTime, d.RTO, resultOf(d, "RTO")),
	}
	for _, one := range d.Checks {
		p.Checks = append(p.Checks, check{Name: one.Name, Message: one.Message, Mark: markOf(one.Result)})
	}
	for _, link := range slices.Backward(chain) {
		p.Drills = append(p.Drills, entryOf(bounded(link)))
	}
	return p
}

func rtoMeaning(d drill) string {
	meaning := "How long the recovery took: from the start of the drill to its verdict."
	if d.RestoreTime != "" {
		meaning += fmt.Sprintf(" Velero's restore took %s of it.", shown(d.RestoreTime, ""))
	}
	return meaning
}

func entryOf(d drill) entry {
	return entry{
		StartedAt: moment(d.Drill.StartedAt), Drill: d.Drill.Namespace + "/" + d.Drill.Name, Backup: cmp.Or(d.Backup.Name, "none"),
		RPO: shown(d.DataAge, "–"), RTO: shown(d.RecoveryTime, "–"), Hash: d.Hash, Verdict: markOf(d.Verdict),
	}
}

// proofOf says what a verdict proves, and no more.
func proofOf(d drill) string {
	switch d.Verdict {
	case "Passed":
		return fmt.Sprintf("Backup %s of cluster %s was restored into cluster %s in %s, with data that was %s old; %d of %d checks passed.",
			named(d.Backup.Name), named(d.Backup.Cluster), named(d.Restored.Cluster),
			shown(d.RecoveryTime, "a time that is not known"), shown(d.DataAge, "an unknown time"), len(checksOf(d, "Passed")), len(d.Checks)+d.MoreChecks)
	case "Failed":
		return fmt.Sprintf("This drill does not prove that cluster %s can be recovered: %s.", named(d.Backup.Cluster), resultsOf(d, "Failed", "failed"))
	case "Inconclusive":
		return fmt.Sprintf("This drill proves neither that cluster %s can be recovered nor that it cannot: %s.",
			named(d.Backup.Cluster), resultsOf(d, "NotChecked", "could not be made"))
	}
	return fmt.Sprintf("The document has the verdict %q, of which this program does not know what it proves.", d.Verdict)
}

// resultOf the check of a name; empty if there is none.
func resultOf(d drill, name string) string {
	for _, one := range d.Checks {
		if one.Name == name {
			return one.Result
		}
	}
	return ""
}

// resultsOf names the checks that have a result.
func resultsOf(d drill, result, what string) string {
	names := checksOf(d, result)
	switch len(names) {
	case 0:
		return "the document does not tell which check " + what
	case 1:
		return fmt.Sprintf("the check %s %s", names[0], what)
	}
	last := len(names) - 1
	return fmt.Sprintf("the checks %s and %s %s", strings.Join(names[:last], ", "), names[last], what)
}

// checksOf are the names of the checks that have a result.
func checksOf(d drill, result string) (names []string) {
	for _, one := range d.Checks {
		if one.Result == result {
			names = append(names, one.Name)
		}
	}
	return names
}

func factsOf(d drill) []fact {
	facts := []fact{
		{"Cluster", named(d.Backup.Cluster)},
		{"Policy", named(d.Drill.Policy)},
		{"Backup", cmp.Or(d.Backup.Name, "there was none to restore")},
		{"Backup taken (UTC)", takenAt(d)},
		{"Objects in it", objects(d.Backup)},
		{"Prefix in the bucket", named(d.Backup.Prefix)},
		{"Drill", d.Drill.Namespace + "/" + d.Drill.Name},
		{"Drill started (UTC)", moment(d.Drill.StartedAt)},
		{"Restored into", named(d.Restored.Cluster)},
		{"Where in it", placeOf(d.Restored.Mode)},
		{"Identity of that cluster", cmp.Or(d.Restored.ClusterID, "not known: nothing was made there")},
	}
	if d.Drill.Mode == modeRecover {
		facts = append(facts, fact{"Asked for by", named(d.Drill.RequestedBy)})
	}
	return facts
}

// modeRecover is the mode of a drill that was no rehearsal.
const modeRecover = "Recover"

// Kind of drill it was, for the heading.
func (d drill) Kind() string {
	if d.Drill.Mode == modeRecover {
		return "Recovery"
	}
	return "Recovery drill"
}

// What the facts are about, for their heading.
func (d drill) What() string {
	if d.Drill.Mode == modeRecover {
		return "What was recovered"
	}
	return "What was rehearsed"
}

func takenAt(d drill) string {
	if d.Backup.TakenAt == nil || d.Backup.TakenAt.IsZero() {
		return "not known"
	}
	return fmt.Sprintf("%s, %s before the drill", moment(*d.Backup.TakenAt), shown(d.DataAge, "an unknown time"))
}

func objects(backup evidence.Backup) string {
	if backup.Items <= 0 {
		return "not known"
	}
	return fmt.Sprint(backup.Items)
}

func placeOf(mode string) string {
	switch mode {
	case "NamespaceMapped":
		return "namespaces of other names, beside those that were backed up"
	case "Standby":
		return "namespaces of the same names, in a standby cluster"
	case "Ephemeral":
		return "namespaces of the same names, in a cluster that was ordered for the drill"
	}
	return named(mode)
}

func named(name string) string { return cmp.Or(name, "not known") }

// moment is a time in UTC.
func moment(at time.Time) string {
	if at.IsZero() {
		return "not known"
	}
	return at.UTC().Format(time.DateTime)
}
