package addonrelease

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// objectsObservation is what the plan for a set of objects is made from.
type objectsObservation struct {
	now time.Time
	// rules that say which changes are drift, and the version that they have with the settings.
	rules        managedfields.Rules
	rulesVersion string
	// comparedWith is the version of the rules that the inventory was compared with last; empty if it never was.
	comparedWith string
	settings     driftSettings
	// suspended: nothing is written or removed, drift is only reported.
	suspended bool
	// request is what people ask for with the annotation daytwo.dev/requested-at; requested: it is a new one.
	request   string
	requested bool
	// clusterDeleted: the cluster is deleted with all that is in it, so that only what is outside of it counts.
	clusterDeleted bool
	// unlisted are the kinds whose watch has not listed yet; drift cannot be told until then.
	unlisted int
	// unknown says of kinds in use why they can neither be listed nor watched. What is known of their objects may
	// be outdated.
	unknown map[schema.GroupKind]string
	desired []desired

	inventory inventory
	sightings map[objects.Key]sighting
	holders   map[objects.Key]string
	fights    map[objects.Key]fight
	refused   map[objects.Key]refusal
	deletions map[objects.Key]deletion
	// lastWrite is when an object of the set was applied last; zero if no object was since the manager started.
	lastWrite time.Time
}

// sighting is what a watch saw of an object, and whether that is drift.
type sighting struct {
	seen    *fleet.Seen
	drifted bool
}

// corrects: drift is taken back at once.
func (o objectsObservation) corrects() bool { return o.settings.mode == driftCorrect && !o.suspended }
