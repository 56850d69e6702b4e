package report

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// What a report shows of a document, at most. A DRDrill has no more of any.
const (
	// maxName is how long a name may be, in characters.
	maxName = 512
	// maxWord is how long a verdict, a result, an outcome or a duration may be, in characters.
	maxWord = 32
	// maxMessage is how long the message of a check may be, in characters.
	maxMessage    = 2048
	maxChecks     = 48
	maxSteps      = 64
	maxNamespaces = 256
	maxLeftOut    = 256
)

// drill is a document within these limits, and how much they cut off.
type drill struct {
	evidence.Document
	Hash string
	// Namespaces are those of Restored, sorted by the name in the backup.
	Namespaces []namespace
	// More of each there are in the document than are shown.
	MoreChecks, MoreSteps, MoreNamespaces, MoreLeftOut int
}

// namespace is one that was restored.
type namespace struct {
	Name, RestoredAs string
}

// bounded is what a report shows of a document. It shares nothing with the document that it changes.
func bounded(link evidence.Link) drill {
	d := drill{Document: link.Document, Hash: link.Hash}
	for _, name := range []*string{
		&d.Previous, &d.Drill.Namespace, &d.Drill.Name, &d.Drill.UID, &d.Drill.Policy, &d.Drill.Mode, &d.Drill.RequestedBy,
		&d.Backup.Cluster, &d.Backup.Name, &d.Backup.Prefix, &d.Restored.Cluster, &d.Restored.ClusterID, &d.Restored.Mode,
	} {
		*name = plain(*name, maxName)
	}
	for _, word := range []*string{&d.Verdict, &d.DataAge, &d.RestoreTime, &d.RecoveryTime, &d.RPO, &d.RTO} {
		*word = plain(*word, maxWord)
	}
	d.Checks, d.MoreChecks = first(d.Checks, maxChecks)
	for i, check := range d.Checks {
		d.Checks[i] = evidence.Check{Name: plain(check.Name, maxName), Result: plain(check.Result, maxWord), Message: plain(check.Message, maxMessage)}
	}
	d.Timeline, d.MoreSteps = first(d.Timeline, maxSteps)
	for i := range d.Timeline {
		step := &d.Timeline[i]
		step.Name, step.Object, step.Outcome = plain(step.Name, maxName), plain(step.Object, maxName), plain(step.Outcome, maxWord)
	}
	d.Restored.LeftOut, d.MoreLeftOut = first(d.Restored.LeftOut, maxLeftOut)
	for i, resource := range d.Restored.LeftOut {
		d.Restored.LeftOut[i] = plain(resource, maxName)
	}
	names, more := first(slices.Sorted(maps.Keys(d.Restored.Namespaces)), maxNamespaces)
	for _, name := range names {
		d.Namespaces = append(d.Namespaces, namespace{Name: plain(name, maxName), RestoredAs: plain(d.Restored.Namespaces[name], maxName)})
	}
	d.MoreNamespaces = more
	return d
}

// first is a copy of the first of a list, and how many more there are.
func first[T any](list []T, most int) (shown []T, more int) {
	shown = slices.Clone(list[:min(len(list), most)])
	return shown, len(list) - len(shown)
}

// plain is a text of so many characters at most, without those that are not seen: one that turns the direction of writing
// would let a text look like another.
func plain(text string, most int) string {
	var out strings.Builder
	for _, character := range text {
		if most--; most < 0 {
			return out.String() + "…"
		}
		if unicode.IsControl(character) || unicode.Is(unicode.Cf, character) {
			character = unicode.ReplacementChar
		}
		out.WriteRune(character)
	}
	return out.String()
}
