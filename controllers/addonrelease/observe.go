package addonrelease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
	"github.com/daytwo-dev/daytwo/controllers/internal/suspension"
)

// observed is all that a plan and a report are made from.
type observed struct {
	release *addonsv1alpha1.AddonRelease
	// stored is the release as it was read or written last.
	stored *addonsv1alpha1.AddonRelease
	// restored: the status is one that waited to be written.
	restored bool
	// recorded: the status was written in this reconcile, so nobody else wrote it since it was read.
	recorded bool
	now      time.Time
	// rules that say which changes are drift, and the version that they have with the settings of the policy.
	rules        managedfields.Rules
	rulesVersion string
	suspension   suspension.Suspension
	// unreachable says why the cluster cannot be worked with; empty if it can.
	unreachable string
	// pending: the cluster is expected to answer any moment, as after a start of the manager. Until it
	// does, or is found unreachable, what was known before stands.
	pending   bool
	clusterID types.UID
	// going is what is known of the deletion of the TenantCluster; nil if it stays.
	going *departure
	// replaced is what the release has in another cluster, in whose place the provider accepted this one.
	replaced orphans.Entry
	// request is what people ask for with the annotation daytwo.dev/requested-at.
	request string
	// unlisted are the kinds whose watch has not listed yet; drift cannot be told until then.
	unlisted int
	// unknown says of kinds in use why they can neither be listed nor watched. What is known of their objects may
	// be outdated.
	unknown map[schema.GroupKind]string
	inputs  string
	// desired is known only where it is needed: when something is to be written.
	desired      []desired
	desiredKnown bool
	// unrendered is why a release ends without its hooks: nobody can tell any more what they are.
	unrendered error
	// problem is why desired is not known although it is needed.
	problem error

	// chart is what the desired objects come with, if the source is one.
	chart *chart
	// history of the Helm release, where something is to be done to it.
	history helm.History
	// recordDrifted: somebody changed the Helm release's record, or took its place.
	recordDrifted bool
	// recordPending: as far as is known, the record says that an operation is under way.
	recordPending bool
	// recordSeen is what the watch saw of it.
	recordSeen *fleet.Seen
	// tests is the token of the tests that somebody asks for.
	tests string

	inventory inventory
	sightings map[objects.Key]sighting
	holders   map[objects.Key]string
	fights    map[objects.Key]fight
	refused   map[objects.Key]refusal
	deletions map[objects.Key]deletion
	// lastWrite is when an object of the release was applied last; zero if no object was since the manager started.
	lastWrite time.Time
}

// sighting is what a watch saw of an object, and whether that is drift.
type sighting struct {
	seen    *fleet.Seen
	drifted bool
}

func (o observed) reachable() bool { return o.unreachable == "" && !o.waiting() }

// waiting: there is nothing to say yet. What is awaited, a connection or the first list of a watch,
// makes for another reconcile.
func (o observed) waiting() bool { return o.pending || o.unlisted > 0 }

func (o observed) abandoned() bool {
	return o.unreachable != "" && o.release.Annotations[metav1alpha1.AnnotationAbandon] == "true"
}

func (o observed) driftMode() addonsv1alpha1.DriftMode {
	if o.release.Spec.Drift.Mode == "" {
		return addonsv1alpha1.DriftCorrect
	}
	return o.release.Spec.Drift.Mode
}

// corrects: drift is taken back at once.
func (o observed) corrects() bool {
	return o.driftMode() == addonsv1alpha1.DriftCorrect && !o.suspension.Active
}

func (o observed) requested() bool {
	return o.request != o.release.Status.HandledRequest
}

// settled: what is to be in the cluster was applied completely, and nothing else was begun since.
func (o observed) settled() bool {
	return o.inputs == o.release.Status.InputsHash && o.release.Status.Applying == "" && !o.recordPending
}

// needsDesired: the release is to be written, or something in it.
func (o observed) needsDesired() bool {
	if !o.reachable() {
		return false
	}
	if !o.release.DeletionTimestamp.IsZero() {
		return o.release.Status.Helm != nil && !orphaned(o.release) && !o.awaitsBackup()
	}
	if !o.settled() || o.requested() || o.driftPolicyChanged() || o.release.Status.Drift.Rules == "" || o.recordDrifted || testsDue(o) != "" {
		return true
	}
	for key, e := range o.inventory {
		if e.intended() || o.sightings[key].drifted {
			return true
		}
	}
	return false
}

// driftPolicyChanged: what was left in place before may have to be taken back now.
func (o observed) driftPolicyChanged() bool {
	return o.release.Generation != o.release.Status.ObservedGeneration
}

// observe reads everything once. It returns the cluster to work with, nil if there is none.
func (r *Reconciler) observe(ctx context.Context, release *addonsv1alpha1.AddonRelease, known *remembered) (observed, *fleet.Cluster, error) {
	known.freshen(release)
	o := observed{
		release: release, stored: release.DeepCopy(), restored: known.restore(release), now: r.Clock.Now(), rules: r.Rules, inputs: r.inputsOf(release),
		suspension: suspension.Of(release.Spec.Suspend, release.Annotations, r.Clock.Now()),
		fights:     known.fights, deletions: known.deletions, refused: known.refused, recordPending: known.recordPending,
		lastWrite: known.lastWrite,
	}
	o.rulesVersion = rulesVersion(r.Rules, release.Spec.Drift)
	var err error
	if o.inventory, err = readInventory(release.Status.Inventory); err != nil {
		return o, nil, err
	}
	cluster, err := r.observeCluster(ctx, &o)
	if err != nil || cluster == nil {
		return o, nil, err
	}
	if err := r.observeObjects(ctx, &o, cluster); err != nil {
		return o, cluster, err
	}
	if err := r.observeRecord(ctx, &o, cluster); err != nil {
		return o, cluster, err
	}
	if o.requested() {
		clear(known.fights)
	}
	if o.needsDesired() {
		o.problem = r.observeDesired(ctx, &o, cluster)
	}
	if o.problem != nil && !release.DeletionTimestamp.IsZero() && (!mayPass(o.problem) || skipsDeleteHooks(release)) {
		o.unrendered, o.problem = o.problem, r.observeUnrendered(ctx, &o, cluster)
	}
	return o, cluster, nil
}

// observeCluster finds the cluster, or why there is none to work with.
func (r *Reconciler) observeCluster(ctx context.Context, o *observed) (*fleet.Cluster, error) {
	key := clusterKey(o.release)
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := r.Client.Get(ctx, key, tenant); apierrors.IsNotFound(err) {
		o.unreachable = fmt.Sprintf("TenantCluster %s does not exist", key)
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("get TenantCluster %s: %w", key, err)
	}
	o.request = requestOf(o.release, tenant)
	o.suspension = o.suspension.Or(suspension.Of(tenant.Spec.Suspend, tenant.Annotations, o.now)).Or(upgradeOf(tenant))
	o.going = departureOf(tenant, o.release)
	cluster, connected := r.Fleet.Get(key)
	if !connected {
		o.findOut(tenant, attemptOf(r.Fleet.State(key)))
		return nil, nil
	}
	o.clusterID = cluster.ID
	if before := o.release.Status.ClusterID; before != "" && before != string(cluster.ID) {
		o.moveFrom(before)
	}
	return cluster, r.restore(ctx, key, cluster)
}

// upgradeOf holds work off while the cluster gets another version of Kubernetes.
func upgradeOf(tenant *tenancyv1alpha1.TenantCluster) suspension.Suspension {
	up := tenant.Status.Upgrade
	if up == nil {
		return suspension.Suspension{}
	}
	return suspension.During(fmt.Sprintf("the cluster is upgraded from %s to %s", up.From, up.To))
}

// requestOf tells one request of a person from another, wherever they made it.
func requestOf(release *addonsv1alpha1.AddonRelease, tenant *tenancyv1alpha1.TenantCluster) string {
	made := []string{release.Spec.RequestedAt, metav1alpha1.RequestedAt(release), metav1alpha1.RequestedAt(tenant)}
	if made = slices.DeleteFunc(made, func(one string) bool { return one == "" }); len(made) == 0 {
		return ""
	}
	return strings.Join(made, " ")
}

// restore tells the tracker of all releases of a cluster what they own there, before any watch lists
// it: a watch keeps nothing of objects that nobody claimed.
func (r *Reconciler) restore(ctx context.Context, key types.NamespacedName, cluster *fleet.Cluster) error {
	return cluster.Tracker.Restore(ownerKind, func(tracker *fleet.Tracker) error {
		releases, err := r.releasesIn(ctx, key)
		if err != nil {
			return err
		}
		for i := range releases {
			stored, err := readInventory(releases[i].Status.Inventory)
			if err != nil || releases[i].Status.ClusterID != string(cluster.ID) {
				continue // Its own reconcile tells.
			}
			version := rulesVersion(r.Rules, releases[i].Spec.Drift)
			for key, e := range stored {
				tracker.Claim(ownerOf(&releases[i]), key)
				tracker.Tolerate(key, tolerance(releases[i].Spec.Drift, version, e.Ref, e.environment))
				tracker.Expect(key, fleet.Expectation{UID: e.uid, Fingerprint: e.fingerprint})
			}
			claimHelm(tracker, &releases[i])
		}
		return nil
	})
}

// observeObjects looks at what the watches saw of the inventory.
func (r *Reconciler) observeObjects(ctx context.Context, o *observed, cluster *fleet.Cluster) error {
	o.sightings = make(map[objects.Key]sighting, len(o.inventory))
	var unseen []objects.Ref
	for key, e := range o.inventory {
		if err := cluster.Watch(ctx, e.GroupVersionKind); meta.IsNoMatchError(err) {
			// The kind is gone from the cluster, and its objects with it.
			o.sightings[key] = sighting{seen: &fleet.Seen{Gone: true, At: o.now}, drifted: !e.intended()}
			continue
		} else if err != nil {
			return err
		}
		if o.awaits(key.GroupKind, cluster.Tracker.Kind(key.GroupKind)) {
			continue
		}
		allowed := tolerance(o.release.Spec.Drift, o.rulesVersion, e.Ref, e.environment)
		cluster.Tracker.Tolerate(key, allowed)
		seen, drifted := cluster.Tracker.Look(key)
		// A kind that cannot be listed cannot be read either, and must not hold up the others.
		if _, unknown := o.unknown[key.GroupKind]; seen == nil && !unknown && !e.intended() && !e.unwatched() {
			unseen = append(unseen, e.Ref)
		}
		o.sightings[key] = o.reassess(sighting{seen: seen, drifted: drifted}, e, allowed)
	}
	return o.observeUnseen(ctx, cluster, unseen)
}

// awaits is whether the first list of a kind has to be awaited. One that fails holds nothing up.
func (o *observed) awaits(kind schema.GroupKind, state fleet.KindState) bool {
	if state.Unknown != "" {
		if o.unknown == nil {
			o.unknown = map[schema.GroupKind]string{}
		}
		o.unknown[kind] = state.Unknown
	}
	if state.Pending() {
		o.unlisted++
	}
	return state.Pending()
}
