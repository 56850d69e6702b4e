package orphanrecord

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/parallel"
)

// concurrency is how many objects of a batch are worked on at a time: a sweep is in no hurry.
const concurrency = 8

// apply carries a plan out. What fails is a result too.
func (r *Reconciler) apply(ctx context.Context, o observation, p plan) []result {
	results := p.unusable
	for _, one := range p.batches {
		results = append(results, r.sweep(ctx, o, one)...)
	}
	return results
}

// sweep looks at the objects of a batch, then at who has what by now, and then removes what may go. In this
// order a target that comes between is seen, or what it writes is: a deletion holds for what was looked at only.
func (r *Reconciler) sweep(ctx context.Context, o observation, work batch) []result {
	cluster, connected := r.Fleet.Get(work.site.key())
	if !connected || string(cluster.ID) != work.site.id {
		return failures(work, errors.New("the cluster does not answer"))
	}
	seen := parallel.Map(len(work.items), concurrency, func(i int) itemState {
		object, err := cluster.Find(ctx, work.items[i].Ref)
		return itemState{object: object, err: err}
	})
	guard, histories, err := r.lookAround(ctx, o, work, cluster)
	if err != nil {
		return failures(work, err)
	}
	// All that was read is believed from here on, and deleted as read.
	if err := cluster.Confirm(ctx); err != nil {
		return failures(work, err)
	}
	return parallel.Map(len(work.items), concurrency, func(i int) result {
		one := work.items[i]
		made := result{item: one, clusterID: work.site.id}
		if made.outcome, made.why = guard.decide(one, seen[i]); made.outcome == removable {
			made.outcome, made.why = r.remove(ctx, cluster, one, seen[i].object, histories)
			made.sent = made.outcome == removing || made.outcome == gone
		}
		return made
	})
}

// failures of a whole batch.
func failures(work batch, err error) []result {
	results := make([]result, len(work.items))
	for i, one := range work.items {
		results[i] = result{item: one, clusterID: work.site.id, outcome: failed, why: one.because(err)}
	}
	return results
}

// histories of the Helm releases of a batch, as the cluster has them.
type histories map[helm.Release][]metav1.PartialObjectMetadata

// lookAround reads from the API server whether the cluster may be swept still, and who has what there.
func (r *Reconciler) lookAround(ctx context.Context, o observation, work batch, cluster *fleet.Cluster) (guard, histories, error) {
	if err := cluster.Confirm(ctx); err != nil {
		return guard{}, nil, err // What was looked at may be another cluster's.
	}
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := r.Reader.Get(ctx, work.site.key(), tenant); err != nil {
		return guard{}, nil, fmt.Errorf("read TenantCluster %s: %w", work.site.key(), err)
	}
	members, err := r.Targets.In(ctx, r.Reader, work.site.key())
	if err != nil {
		return guard{}, nil, err
	}
	for _, hold := range []hold{holdOf(tenant, work.site.id, r.HeadStart, o.now), unapplied(members)} {
		if tenant.UID != work.site.tenant.UID || hold.why != "" {
			return guard{}, nil, errors.New("the cluster is not to be swept now: " + hold.why)
		}
	}
	made, found := newGuard(r.Installation, members), histories{}
	for _, one := range work.items {
		if one.release == nil {
			continue
		}
		release := *one.release
		if _, known := found[release]; known {
			continue
		}
		if found[release], err = cluster.List(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), release.Namespace, release.Selector()); err != nil {
			return guard{}, nil, err
		}
		made.changed[release] = !r.isOurs(release, found[release])
	}
	return made, found, nil
}

// isOurs: the latest record of a release, if there is one, was written by us.
func (r *Reconciler) isOurs(release helm.Release, secrets []metav1.PartialObjectMetadata) bool {
	latest := helm.NewHistory(release, secrets).Latest()
	return latest.UID == "" || r.wrote(release, latest, secrets) != nil
}

// wrote returns the Secret of a record, if this installation wrote it.
func (r *Reconciler) wrote(release helm.Release, entry helm.Entry, secrets []metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	for i := range secrets {
		secret := &secrets[i]
		if secret.UID == entry.UID && secret.Name == release.SecretName(entry.Version) && entry.IsOurs() && secret.Labels[metav1alpha1.LabelManagedBy] == r.Installation {
			return secret
		}
	}
	return nil
}

// remove asks for the deletion of an object as it was looked at.
func (r *Reconciler) remove(ctx context.Context, cluster *fleet.Cluster, one item, seen *metav1.PartialObjectMetadata, found histories) (outcome, string) {
	switch {
	case one.isFoundation():
		content, err := cluster.ContentOf(ctx, one.Ref)
		switch {
		case err != nil:
			return failed, one.because(err)
		case content.Name != "" && content.Passing:
			return failed, "it still holds " + content.String() + ", which is going"
		case content.Name != "":
			return left, "it still holds " + content.String()
		}
	case one.stage == records:
		removing, err := r.removeOlder(ctx, cluster, *one.release, seen.UID, found[*one.release])
		if err != nil {
			return failed, one.because(err)
		}
		if removing > 0 {
			return failed, one.noted // Its turn comes when they are seen to be gone.
		}
	}
	return one.asked(cluster.DeleteAsRead(ctx, one.Ref, seen))
}

// removeOlder removes the records of a release that came before the one that the OrphanRecord knows, and returns how many
// there still were. The known one goes last: as long as that is there, they are found again.
func (r *Reconciler) removeOlder(ctx context.Context, cluster *fleet.Cluster, release helm.Release, known types.UID, secrets []metav1.PartialObjectMetadata) (removing int, err error) {
	for _, entry := range helm.NewHistory(release, secrets) {
		secret := r.wrote(release, entry, secrets)
		if secret == nil || secret.UID == known {
			continue
		}
		ref := objects.Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Namespace: secret.Namespace, Name: secret.Name}
		if err := cluster.DeleteAsRead(ctx, ref, secret); err != nil && !apierrors.IsNotFound(err) {
			return removing, fmt.Errorf("remove %s: %w", ref, err)
		}
		removing++
	}
	return removing, nil
}

// asked is what came of asking for a deletion. That the object is gone is believed when it is seen, at the next look.
func (i item) asked(err error) (outcome, string) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return removing, deleting
	case apierrors.IsConflict(err):
		return failed, "somebody changed it at the same moment"
	}
	return failed, i.because(err)
}
