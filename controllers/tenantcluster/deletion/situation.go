package deletion

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Situation is what the step depends on.
type Situation struct {
	Now time.Time
	// Cluster is being deleted. Its status is what was on record before.
	Cluster *tenancyv1alpha1.TenantCluster
	// Unreachable of the cluster.
	Unreachable Unreachable
	// Drills that are under way in the cluster, by kind and name; read only until add-ons are removed.
	Drills []string
	// Enrollments of the cluster, apart from those that are being deleted; read only until add-ons are removed.
	Enrollments []Enrollment
	// Targets that are in the cluster.
	Targets []Target
	// Removal of the cluster itself.
	Removal Removal
}

// Unreachable is how a cluster does not answer. The zero value is for one that does.
type Unreachable struct {
	// Since it does not; zero if it does.
	Since time.Time
	// Why it does not, for people.
	Why string
	// Untried: nobody has tried yet since the manager started, so nothing is given up.
	Untried bool
}

// Enrollment has backups made of the cluster.
type Enrollment struct {
	types.NamespacedName
	// Kind of the object.
	Kind schema.GroupVersionKind
	// LastSuccess is when the last good backup began; zero for none.
	LastSuccess time.Time
	// Requested is the value of its annotation daytwo.dev/backup-now.
	Requested string
	// Answered is the value of it for which a backup was made last, and Problem why that is not a good one; empty if it is.
	Answered, Problem string
}

// Target is an object of a kind of targets in the cluster.
type Target struct {
	types.NamespacedName
	// Kind as in "AddonRelease".
	Kind string
	// PolicyKind is that of the policy that deletes it; empty if people do.
	PolicyKind string
	// Deleted is when it began to remove what it has in the cluster; zero if it does not.
	Deleted time.Time
	// HeldBy names the policy whose withdrawal guard keeps it from being deleted; empty for none.
	HeldBy string
}

// Removal is how Cluster API stands with a cluster that was ordered. The zero value is for a cluster that is gone,
// or that is not Daytwo's to remove.
type Removal struct {
	// Needed: the cluster is there.
	Needed bool
	// Begun: Cluster API was asked to remove it.
	Begun bool
	// Unknown: Cluster API does not tell whether it is there.
	Unknown bool
	// Message is how far Cluster API is, or why it was not asked.
	Message string
}

// deleted is when the deletion was asked for.
func (s Situation) deleted() time.Time { return s.Cluster.DeletionTimestamp.Time }

func (s Situation) ordered() bool { return s.Cluster.Spec.Topology != nil }

// silent is whether there is a cluster that is known not to answer.
func (s Situation) silent() bool { return !s.Unreachable.Since.IsZero() }

// reached is whether Daytwo ever worked in the cluster: its identity is on record before anything is written.
func (s Situation) reached() bool { return s.Cluster.Status.ClusterID != "" }
