package policy

import (
	"context"
	"iter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// Policy is an object of a kind of policy.
type Policy = metav1alpha1.Policy

// Target is an object of a kind of target.
type Target = metav1alpha1.Target

// Kind is what is particular to a kind of policy and its kind of target. Objects that it is given belong to the cache,
// apart from those that a method says it writes.
type Kind[P Policy, T Target] interface {
	// NewPolicy returns an empty policy, NewTarget an empty target.
	NewPolicy() P
	NewTarget() T
	// CopyStatus writes a deep copy of a policy's status into another policy, CopySpec one of a target's spec into another
	// target.
	CopyStatus(to, from P)
	CopySpec(to, from T)

	// Content is what the policy is made of now, or what stands in its way.
	Content(ctx context.Context, policy P, now time.Time) (Content[P], error)
	// References are the objects in the policy's namespace whose changes wake it.
	References(policy P) []Reference
	// Forget what is remembered of a policy that is gone.
	Forget(key client.ObjectKey)

	// SyncSettings writes into a target what it takes from its policy beside the revision and what TargetSpec has,
	// SettingsCurrent is whether it has all that.
	SyncSettings(target T, policy P)
	SettingsCurrent(target T, policy P) bool
	// State is what a target says of its current generation, and the message that goes with it.
	State(target T) (rollout.State, string)
	// Objects are the names of what a target has in its cluster.
	Objects(target T) []string
}

// GatedKind is a Kind that holds changes back in all clusters of a policy, for reasons of its own.
type GatedKind[P Policy] interface {
	// Gates that are closed now. The policy is reconciled again when the first of them opens by itself.
	Gates(policy P, now time.Time) []rollout.Gate
}

// CoordinatingKind is a Kind that decides about the clusters of a policy together, such as in which order they change.
type CoordinatingKind[P Policy] interface {
	// Coordinate decides what Pair, SyncSettings and Gates say from now on. It is asked before they are, each time that a
	// policy is reconciled that is not being deleted. It may write objects of its own. What it gives to record is stored in the policy's
	// status at once, and is in the policy afterwards. After an error what was decided before holds, and people are told.
	Coordinate(ctx context.Context, policy P, record func(ctx context.Context, set func(policy P)) error, now time.Time) (Coordination, error)
}

// Coordination is what has come of that.
type Coordination struct {
	// Changed are the clusters for which they say something else than before.
	Changed []rollout.ClusterKey
	// Again is when it may differ though nothing changes; zero for never.
	Again time.Time
}

// ReleasingKind is a Kind that makes objects beside a policy.
type ReleasingKind[P Policy] interface {
	// Release removes them. The policy is deleted, and its targets are gone.
	Release(ctx context.Context, policy P) error
}

// PairedKind is a Kind whose policies want something of their own in a cluster. It is asked when the policy, the cluster or
// the target has changed, a reference was, Wake or WakeCluster was called, or the time has come that it gave.
type PairedKind[P Policy, T Target] interface {
	// Pair is what a policy wants in a cluster, read from the cache. The target is what is there; nil if nothing is.
	Pair(ctx context.Context, policy P, cluster *tenancyv1alpha1.TenantCluster, target T, now time.Time) (Pair, error)
}

// Pair is what a policy wants in one cluster beside what it wants in all. The zero value is nothing.
type Pair struct {
	// Revision that the cluster should have; empty for the policy's. The kind stores it, and it is pruned with the others.
	Revision string
	// Content names the immutable Secret with what this cluster gets beside the revision; empty for nothing. The kind stores
	// and prunes it.
	Content string
	// Gates hold changes back in this cluster.
	Gates []rollout.Gate
	// Overrides are the reasons of gates that do not hold this cluster's change back, which is urgent then: where there is a
	// target, it waits for no slot either.
	Overrides []string
	// Again is when any of this may differ though nothing changes; zero for never.
	Again time.Time
}

// SummingKind is a Kind whose policies tell more of their targets than how many are ready.
type SummingKind[P Policy, T Target] interface {
	// Part is what a policy tells of one target, as a value that can be compared. It is pure.
	Part(target T) any
	// Sum writes what the parts of a policy's targets come to into its status. It is pure.
	Sum(policy P, parts iter.Seq[any], now time.Time)
}

// PhasedKind is a Kind whose rollouts go in phases, such as waves.
type PhasedKind[P Policy] interface {
	// Phase of a rollout, from the policy with its status, and its clusters and targets, which are complete. It must be pure.
	Phase(policy P, input rollout.Input) Phase[P]
}

// Phase is where a rollout is.
type Phase[P Policy] struct {
	// SetStatus writes the record of the phase into a policy's status; nil for nothing. The record is stored before any target
	// is created, updated or deleted.
	SetStatus func(policy P)
	// GatesIn are the gates that the phase closes in a cluster; nil for none in any.
	GatesIn func(cluster *rollout.Cluster) []rollout.Gate
}

// Content is what a policy is made of.
type Content[P Policy] struct {
	// Version changes whenever the content may have changed, beside the policy's generation and the
	// versions of its references.
	Version string
	// Read returns the bytes of a revision, or what only a person can mend. It is called if they are not known and stored
	// already. Nil where the content is not usable; then Stall says why.
	Read func(ctx context.Context) ([]byte, *Stall, error)
	// SetStatus writes what the kind's status tells of the content into a policy; nil for nothing.
	SetStatus func(policy P)
	// Stall is what stands in the way, or is worth telling; nil for nothing.
	Stall *Stall
	// Again is when the content may be something else though nothing changes; zero for never. Version has to be another one then.
	Again time.Time
}

// Stall is what only a person can mend, or what is awaited; it becomes the policy's Stalled condition, or Reconciling.
type Stall struct {
	Reason  string
	Message string
	// Usable: what is known already will do.
	Usable bool
	// Transient: it may be mended without a person.
	Transient bool
	// Retry is when it is looked at again without being asked; zero for never.
	Retry time.Time
}

// Reference is a ConfigMap or Secret in a policy's namespace.
type Reference struct {
	// Kind is "ConfigMap" or "Secret".
	Kind string
	Name string
	// Access: it is needed to get the content, and the content does not depend on it.
	Access bool
}

// String is the form for an index.
func (r Reference) String() string { return r.Kind + "/" + r.Name }
