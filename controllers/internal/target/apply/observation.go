package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Observation is what the plan for a set of objects is made from.
type Observation struct {
	Now time.Time
	// Rules that say which changes are drift, and the version that they have with the settings.
	Rules        managedfields.Rules
	RulesVersion string
	// ComparedWith is the version of the rules that the inventory was compared with last; empty if it never was.
	ComparedWith string
	Settings     Settings
	// Suspended: nothing is written or removed, drift is only reported.
	Suspended bool
	// Request is what people ask for with the annotation daytwo.dev/requested-at; requested: it is a new one.
	Request   string
	Requested bool
	// ClusterDeleted: the cluster is deleted with all that is in it, so that only what is outside of it counts.
	ClusterDeleted bool
	// Unlisted are the kinds whose watch has not listed yet; drift cannot be told until then.
	Unlisted int
	// Unknown says of kinds in use why they can neither be listed nor watched. What is known of their objects may
	// be outdated.
	Unknown map[schema.GroupKind]string
	Desired []Object

	Inventory   Inventory
	States      map[objects.Key]ObjectState
	Owners      map[objects.Key]string
	Contentions map[objects.Key]Contention
	Refused     map[objects.Key]Refusal
	Deletions   map[objects.Key]Deletion
	// lastWrite is when an object of the set was applied last; zero if no object was since the manager started.
	lastWrite time.Time
	// postponed are the objects that the slice before did not come to, and in which order.
	postponed map[objects.Key]int
}

// ObjectState is what a watch saw of an object, and whether that is drift.
type ObjectState struct {
	Seen    *tracker.Seen
	Drifted bool
}

// IsUnderWay is whether the slice before did not come to some of the objects.
func (o Observation) IsUnderWay() bool { return len(o.postponed) > 0 }

// corrects: drift is taken back at once.
func (o Observation) corrects() bool { return o.Settings.Mode == Correct && !o.Suspended }
