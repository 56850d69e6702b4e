package apply

import "github.com/daytwo-dev/daytwo/controllers/internal/managedfields"

// Corrections are the writes that took something back. One after which everybody owns what they owned
// before was none: the manager was killed before it recorded its own write, or the change was to a
// field that others may set.
func Corrections(writes []Written) []Written {
	var corrections []Written
	for _, w := range writes {
		if w.Result != nil && w.Purpose == PurposeCorrect && (w.Seen.Gone || w.Contested || w.Fingerprint != w.Seen.Fingerprint) {
			corrections = append(corrections, w)
		}
	}
	return corrections
}

// LostFields are what our entry lacked before the correction, and has again.
func LostFields(w Written, rules managedfields.Rules) []string {
	if w.Seen.Object == nil {
		return nil
	}
	before, err := rules.OwnFields(w.Seen.Object.ManagedFields)
	if err != nil {
		return nil
	}
	after, err := rules.OwnFields(w.Result.ManagedFields)
	if err != nil {
		return nil
	}
	return managedfields.Names(after.Difference(before))
}
