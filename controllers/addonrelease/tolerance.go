package addonrelease

import (
	"encoding/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// reassess looks again at an object that was seen before the settings changed. One that had not drifted was
// forgotten but for who set something in it.
func (o objectsObservation) reassess(was sighting, e entry, allowed managedfields.Tolerance) sighting {
	if was.seen == nil || was.seen.Object == nil || len(was.seen.Object.ManagedFields) == 0 || was.seen.Gone || was.seen.Rules == allowed.Version {
		return was
	}
	is := o.rules.Assess(was.seen.Object, managedfields.Subject{Kind: e.GroupKind(), Tolerance: allowed})
	was.seen.Fingerprint, was.seen.Untouched, was.seen.Tolerated, was.seen.Rules = is.Fingerprint, is.Untouched, is.Tolerated, allowed.Version
	was.drifted = was.drifted && is.Fingerprint != e.fingerprint
	return was
}

// rulesChanged: the inventory was written under other rules, by another version of Daytwo or with other settings.
func (o objectsObservation) rulesChanged() bool { return o.comparedWith != o.rulesVersion }

// isOnlyNewlyAssessed: the object differs from what is expected because the rules do. Nobody did anything to it
// since. What an older version of Daytwo expected cannot be compared.
func (o objectsObservation) isOnlyNewlyAssessed(e entry, seen sighting) bool {
	if !o.rulesChanged() || seen.seen == nil || seen.seen.Gone {
		return false
	}
	return o.comparedWith == "" || seen.seen.Untouched == e.fingerprint
}

// needsAssessment: the object was seen under other rules, and others have set something in it.
func (o objectsObservation) needsAssessment(seen sighting) bool {
	return o.rulesChanged() && seen.seen != nil && seen.seen.Rules != o.rulesVersion && len(seen.seen.Tolerated) > 0
}

// subject is what the rules have to know of an object that is written.
func (w write) subject() managedfields.Subject {
	subject := managedfields.Subject{Kind: w.GroupKind(), Tolerance: w.tolerance}
	// A body that cannot be read is not applied either; until then, our own entry tells what is declared.
	_ = json.Unmarshal(w.body, &subject.Declared)
	return subject
}
