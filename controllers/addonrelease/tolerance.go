package addonrelease

import (
	"encoding/json"
	"slices"
	"strings"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/brief"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// rulesVersion tells one set of rules, and of a policy's settings for them, from another.
func rulesVersion(rules managedfields.Rules, policy addonsv1alpha1.DriftPolicy) string {
	return rules.Version([]any{additionsOf(policy), policy.Ignore})
}

// tolerance is what others may set of one object.
func tolerance(policy addonsv1alpha1.DriftPolicy, version string, ref objects.Ref, environment bool) managedfields.Tolerance {
	return managedfields.Tolerance{
		Version: version, Additions: additionsOf(policy), Ignored: ignored(policy, ref), Environment: environment,
	}
}

func additionsOf(policy addonsv1alpha1.DriftPolicy) managedfields.Additions {
	switch policy.Additions {
	case addonsv1alpha1.DriftAdditionsAll:
		return managedfields.TakeBackAll
	case addonsv1alpha1.DriftAdditionsNone:
		return managedfields.TakeBackNone
	}
	return managedfields.TakeBackPeopleAndSensitive
}

// ignored lists the fields of an object that drift.ignore names.
func ignored(policy addonsv1alpha1.DriftPolicy, ref objects.Ref) []string {
	var pointers []string
	for _, ignore := range policy.Ignore {
		if selects(ignore.Target, ref) {
			pointers = append(pointers, ignore.JSONPointers...)
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

func selects(selector addonsv1alpha1.ObjectSelector, ref objects.Ref) bool {
	fits := func(want, is string) bool { return want == "" || strings.EqualFold(want, is) }
	return fits(selector.Group, ref.Group) && fits(selector.Kind, ref.Kind) &&
		fits(selector.Namespace, ref.Namespace) && fits(selector.Name, ref.Name)
}

// reassess looks again at an object that was seen before the settings changed. One that had not drifted was
// forgotten but for who set something in it.
func (o observed) reassess(was sighting, e entry, allowed managedfields.Tolerance) sighting {
	if was.seen == nil || was.seen.Object == nil || len(was.seen.Object.ManagedFields) == 0 || was.seen.Gone || was.seen.Rules == allowed.Version {
		return was
	}
	is := o.rules.Assess(was.seen.Object, managedfields.Subject{Kind: e.GroupKind(), Tolerance: allowed})
	was.seen.Fingerprint, was.seen.Untouched, was.seen.Tolerated, was.seen.Rules = is.Fingerprint, is.Untouched, is.Tolerated, allowed.Version
	was.drifted = was.drifted && is.Fingerprint != e.fingerprint
	return was
}

// rulesChanged: the inventory was written under other rules, by another version of Daytwo or with other settings.
func (o observed) rulesChanged() bool { return o.release.Status.Drift.Rules != o.rulesVersion }

// isOnlyNewlyAssessed: the object differs from what is expected because the rules do. Nobody did anything to it
// since. What an older version of Daytwo expected cannot be compared.
func (o observed) isOnlyNewlyAssessed(e entry, seen sighting) bool {
	if !o.rulesChanged() || seen.seen == nil || seen.seen.Gone {
		return false
	}
	return o.release.Status.Drift.Rules == "" || seen.seen.Untouched == e.fingerprint
}

// needsAssessment: the object was seen under other rules, and others have set something in it.
func (o observed) needsAssessment(seen sighting) bool {
	return o.rulesChanged() && seen.seen != nil && seen.seen.Rules != o.rulesVersion && len(seen.seen.Tolerated) > 0
}

// tolerated is what stays of what others set, as the watches show it now: our own writes may just have changed it, and
// their events tell nobody.
func tolerated(i inventory, cluster *fleet.Cluster) []addonsv1alpha1.ToleratedManager {
	if cluster == nil {
		return nil
	}
	managers := make([][]string, 0, len(i))
	for key := range i {
		if seen, _ := cluster.Tracker.Look(key); seen != nil && !seen.Gone {
			managers = append(managers, seen.Tolerated)
		}
	}
	return countManagers(managers)
}

// countManagers counts, by field manager, the objects in which others set something. The ten with most of them are
// named.
func countManagers(byObject [][]string) []addonsv1alpha1.ToleratedManager {
	counts := map[string]int32{}
	for _, managers := range byObject {
		for _, manager := range managers {
			counts[brief.Cut(manager, maxManager)]++
		}
	}
	list := make([]addonsv1alpha1.ToleratedManager, 0, len(counts))
	for manager, count := range counts {
		list = append(list, addonsv1alpha1.ToleratedManager{Manager: manager, Objects: count})
	}
	slices.SortFunc(list, func(a, b addonsv1alpha1.ToleratedManager) int {
		if a.Objects != b.Objects {
			return int(b.Objects - a.Objects)
		}
		return strings.Compare(a.Manager, b.Manager)
	})
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), maxToleratedManagers)]
}

// maxToleratedManagers is how many field managers the status names; the CRD says the same.
const maxToleratedManagers = 10

// subject is what the rules have to know of an object that is written.
func (w write) subject() managedfields.Subject {
	subject := managedfields.Subject{Kind: w.GroupKind(), Tolerance: w.tolerance}
	// A body that cannot be read is not applied either; until then, our own entry tells what is declared.
	_ = json.Unmarshal(w.body, &subject.Declared)
	return subject
}
