package managedfields

// Additions says which fields that others added to an object are taken back.
type Additions uint8

// What is taken back. In the order of strictness.
const (
	// RevertAll takes every addition back.
	RevertAll Additions = iota
	// RevertPeopleAndSensitive takes back what people's tools added, and what anybody added in a sensitive
	// place.
	RevertPeopleAndSensitive
	// RevertNone leaves every addition.
	RevertNone
)

// Tolerance is what others may set of one object, beside what the catalog says. The zero value is the
// strictest.
type Tolerance struct {
	// Version of the rules with these settings, as Rules.Version returns it.
	Version   string
	Additions Additions
	// Ignored are the fields that spec.drift.ignore names.
	Ignored Ignored
	// Environment: a pod template takes every key of the object as an environment variable.
	Environment bool
}
