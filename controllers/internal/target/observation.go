package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Observation is what is known of a target and of the objects that it keeps.
type Observation struct {
	apply.Observation
	Preconditions
	// Drift is what the policy wants done about drift.
	Drift *metav1alpha1.DriftPolicy
	// Inputs is the hash of everything that what is to be in the cluster is made from.
	Inputs string
	// Restored: the status that the target had is one that waited for what the watches were about to show.
	Restored bool
	// AwaitedKeys are what another target has and this one waits for, beside the desired objects.
	AwaitedKeys []objects.Key
	// Returned were removed, and are back with a snapshot of the cluster.
	Returned []apply.Entry
	// untold are corrections of which the status is to tell, beside those of this reconcile.
	untold untold
	// DesiredKnown: the desired objects are known. They are where they are needed, because something is to be written.
	DesiredKnown bool
}

// NewObservation is of a target of which only its status, as it is known, and what is remembered of its objects were
// looked at. The observation is usable, apart from the inventory, where that cannot be read.
func NewObservation(target metav1alpha1.Target, drift *metav1alpha1.DriftPolicy, status Status, memory apply.Memory, rules managedfields.Rules, now time.Time) (Observation, error) {
	o := Observation{Preconditions: NewPreconditions(target, now), Drift: drift}
	o.Now, o.Rules, o.RulesVersion, o.Settings = now, rules, RulesVersion(rules, *drift), SettingsOf(*drift)
	o.Recall(memory)
	var err error
	o.Inventory, err = apply.ReadInventory(status.Inventory)
	return o, err
}

// Objects is what the plan for the objects of a target is made from.
func (o Observation) Objects(status Status) apply.Observation {
	set := o.Observation
	set.Settings, set.ComparedWith = o.DriftSettings(), status.Drift.Rules
	set.Suspended, set.Requested, set.ClusterDeleted = o.Suspension.Active, o.IsRequested(status), o.IsClusterDeleted()
	return set
}

// IsReachable is whether the cluster can be worked with.
func (o Observation) IsReachable() bool { return o.Unreachable == "" && !o.IsWaiting() }

// IsWaiting is whether there is nothing to tell yet. What is awaited, a connection or the first list of a watch, makes
// for another reconcile.
func (o Observation) IsWaiting() bool { return o.Pending || o.Unlisted > 0 }

// IsRequested is whether people asked for a try now that was not made yet.
func (o Observation) IsRequested(status Status) bool { return o.Request != status.HandledRequest }

// TakeRequest takes in what the preconditions say people ask for. Who asks for a try need not wait for another correction.
func (o *Observation) TakeRequest(status Status) {
	if o.Request = o.Requests; o.IsRequested(status) {
		o.Contentions = nil
	}
}

// IsSettled is whether what is to be in the cluster was applied completely, and nothing else was begun since.
func (o Observation) IsSettled(status Status) bool {
	return o.Inputs == status.InputsHash && status.Applying == ""
}

// NeedsDesired is whether an object of a target that is not deleted is to be written, or may be.
func (o Observation) NeedsDesired(status Status) bool {
	// A change of the settings may have to take back what was left in place before.
	settingsChanged := o.target.GetGeneration() != status.ObservedGeneration
	if !o.IsSettled(status) || o.IsRequested(status) || settingsChanged || status.Drift.Rules == "" || o.IsUnderWay() {
		return true
	}
	for key, e := range o.Inventory {
		if e.Intended() || o.States[key].Drifted {
			return true
		}
	}
	return false
}

// External lists what stands for something outside of the cluster.
func (o Observation) External() []apply.Entry {
	return slices.DeleteFunc(o.Inventory.Sorted(), func(e apply.Entry) bool { return !e.External })
}

// InputsHash is over everything that a target's desired objects are made from. A revision never changes, so
// its name stands for its content, and so does the name of what only this cluster gets.
func InputsHash(target metav1alpha1.Target, installation string) string {
	spec := target.GetTargetSpec()
	inputs, err := json.Marshal([]any{spec.Revision, spec.Content, spec.ClusterRef, spec.Cluster, installation})
	if err != nil {
		// Strings and maps of strings always marshal.
		panic(err)
	}
	digest := sha256.Sum256(inputs)
	return hex.EncodeToString(digest[:8])
}

// DriftSettings is what the policy wants done about drift.
func (o Observation) DriftSettings() apply.Settings { return SettingsOf(*o.Drift) }

func (o Observation) isDeleted() bool { return isDeleted(o.target) }

func (o Observation) revision() string { return o.target.GetTargetSpec().Revision }
