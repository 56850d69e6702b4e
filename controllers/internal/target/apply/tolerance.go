package apply

import (
	"encoding/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// Reassess looks again at an object that was seen before the settings changed. One that had not drifted was
// forgotten but for who set something in it.
func (o Observation) Reassess(was ObjectState, e Entry, allowed managedfields.Tolerance) ObjectState {
	if was.Seen == nil || was.Seen.Object == nil || len(was.Seen.Object.ManagedFields) == 0 || was.Seen.Gone || was.Seen.Rules == allowed.Version {
		return was
	}
	is := o.Rules.Assess(was.Seen.Object, managedfields.Subject{Kind: e.GroupKind(), Tolerance: allowed})
	was.Seen.Fingerprint, was.Seen.Untouched, was.Seen.Tolerated, was.Seen.Rules = is.Fingerprint, is.Untouched, is.Tolerated, allowed.Version
	was.Drifted = was.Drifted && is.Fingerprint != e.Fingerprint
	return was
}

// rulesChanged: the inventory was written under other rules, by another version of Daytwo or with other settings.
func (o Observation) rulesChanged() bool { return o.ComparedWith != o.RulesVersion }

// isOnlyNewlyAssessed: the object differs from what is expected because the rules do. Nobody did anything to it
// since. What an older version of Daytwo expected cannot be compared.
func (o Observation) isOnlyNewlyAssessed(e Entry, seen ObjectState) bool {
	if !o.rulesChanged() || seen.Seen == nil || seen.Seen.Gone {
		return false
	}
	return o.ComparedWith == "" || seen.Seen.Untouched == e.Fingerprint
}

// needsAssessment: the object was seen under other rules, and others have set something in it.
func (o Observation) needsAssessment(seen ObjectState) bool {
	return o.rulesChanged() && seen.Seen != nil && seen.Seen.Rules != o.RulesVersion && len(seen.Seen.Tolerated) > 0
}

// subject is what the rules have to know of an object that is written.
func (w Write) subject() managedfields.Subject {
	subject := managedfields.Subject{Kind: w.GroupKind(), Tolerance: w.tolerance}
	// A body that cannot be read is not applied either; until then, our own entry tells what is declared.
	_ = json.Unmarshal(w.Body, &subject.Declared)
	return subject
}
