package managedfields

// Additions says which fields that others added to an object are taken back.
type Additions uint8

// What is taken back. In the order of strictness.
const (
	// TakeBackAll takes every addition back.
	TakeBackAll Additions = iota
	// TakeBackPeopleAndSensitive takes back what people's tools added, and what anybody added in a sensitive
	// place.
	TakeBackPeopleAndSensitive
	// TakeBackNone leaves every addition.
	TakeBackNone
)

// Tolerance is what others may set of one object, beside what the catalog says. The zero value is the
// strictest.
type Tolerance struct {
	// Version of the rules with these settings, as Rules.Version returns it.
	Version   string
	Additions Additions
	// Ignored are the fields that spec.drift.ignore names.
	Ignored Spare
	// Environment: a pod template takes every key of the object as an environment variable.
	Environment bool
}
