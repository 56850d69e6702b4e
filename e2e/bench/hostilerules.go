package main

import (
	"net/http"

	"github.com/daytwo-dev/daytwo/e2e/faults"
)

const (
	gibibyte = 1 << 30
	mebibyte = 1 << 20
	// recordBytes are about the most that a record of Helm in a Secret can inflate to.
	recordBytes = 700 * mebibyte
	// errorBytes are less than the manager reads of an error, so that it is decoded.
	errorBytes = 2 * mebibyte
	// swollenBytes let the objects of an add-on just fit into a page.
	swollenBytes = 700 << 10
	// inventedKinds are in each answer, and for each invented group one more request may follow.
	inventedKinds = 300
	// manyRecords are more than Helm keeps.
	manyRecords = 20
	// quarterPage lets four objects fit into a page of a list, but not five hundred.
	quarterPage = 2 * mebibyte
	// deep is more levels than a parser without a limit has stack for.
	deep = 1 << 20
)

// hostileRule is what a hostile server does to one kind of request.
type hostileRule struct {
	about string
	faults.Rule
}

// hostilePhases are what a hostile server does, one after the other: done all at once, the first would use up what the
// manager reads of a cluster each second. Of each kind of request some are let through, so that the manager gets far
// enough to ask for everything.
func hostilePhases() [][]hostileRule {
	return [][]hostileRule{hostileWatches(), hostileObjects(), hostileLookups()}
}

var (
	bomb        = faults.Inflate(gibibyte + mebibyte)
	longFailure = faults.LongError(http.StatusInternalServerError, errorBytes)
	longRefusal = faults.LongError(http.StatusForbidden, errorBytes)
)

func hostileWatches() []hostileRule {
	identity := faults.Match{Verbs: []string{"get"}, Resources: []string{"namespaces"}, Names: []string{"kube-system"}}
	return []hostileRule{
		{"the identity", faults.Rule{Match: identity, Every: 20, Action: faults.ByTurns(bomb, faults.Endless(), longFailure)}},
		{"lists of what is watched", faults.Rule{
			Match: faults.Match{Verbs: []string{"list"}},
			Action: faults.ByTurns(faults.SwellList(swollenBytes), faults.EndlessPages(), faults.Pass(), faults.HugeObjects(mebibyte), bomb,
				faults.Endless(), longFailure, longRefusal),
		}},
		{"watches", faults.Rule{
			Match:  faults.Match{Verbs: []string{"watch"}},
			Action: faults.ByTurns(faults.SwellEvents(mebibyte), faults.EndlessEvent(), longFailure, faults.SwellEvents(swollenBytes)),
		}},
	}
}

func hostileObjects() []hostileRule {
	records := faults.Match{Verbs: []string{"get"}, Resources: []string{"secrets"}, Names: []string{"sh.helm.release.v1.*"}}
	return []hostileRule{
		{"Helm's records", faults.Rule{Match: records, Action: faults.ByTurns(
			faults.HelmRecord(faults.InflatingRecord(recordBytes)), faults.HelmRecord(faults.RecordOf(faults.Aliases())),
			faults.HelmRecord(faults.RecordOf(faults.Nested(deep))), faults.HelmRecord(faults.RecordOf("")), bomb, faults.Endless(), longFailure,
		)}},
		{"lists of Helm's records", faults.Rule{
			Match: faults.Match{Verbs: []string{"list"}, Resources: []string{"secrets"}, Namespaces: []string{"?*"}},
			Action: faults.ByTurns(faults.HelmRecords(manyRecords), faults.HelmRecords(manyRecords), faults.HelmRecords(manyRecords),
				faults.HugeObjects(mebibyte), bomb, faults.Endless()),
		}},
		{"writes", faults.Rule{
			Match: faults.Match{Verbs: faults.Writes()},
			Action: faults.ByTurns(faults.Pass(), faults.LongError(http.StatusUnprocessableEntity, errorBytes), faults.Pass(), bomb, faults.Pass(),
				faults.LongError(http.StatusConflict, errorBytes), faults.Pass(), faults.Endless(), longRefusal),
		}},
	}
}

func hostileLookups() []hostileRule {
	return []hostileRule{
		{"lookups of all objects", faults.Rule{
			Match: faults.Match{Verbs: []string{"list"}, Resources: []string{"configmaps", "pods", "places.bench.example.com"}},
			Action: faults.ByTurns(faults.HugeObjects(mebibyte), faults.Pass(), faults.EndlessPages(), faults.HugeObjects(quarterPage), bomb,
				faults.Endless(), longFailure),
		}},
		{"lookups of one object", faults.Rule{
			Match:  faults.Match{Verbs: []string{"get"}, Resources: []string{"secrets"}},
			Action: faults.ByTurns(bomb, faults.Pass(), faults.Endless(), longFailure, longRefusal),
		}},
		{"discovery", faults.Rule{
			Match: faults.Match{Verbs: []string{faults.Discover}, Paths: []string{"/api"}},
			Every: 2,
			Action: faults.ByTurns(faults.InventKinds(inventedKinds), faults.InventKinds(inventedKinds), bomb, faults.InventKinds(inventedKinds),
				faults.Endless(), longFailure),
		}},
	}
}
