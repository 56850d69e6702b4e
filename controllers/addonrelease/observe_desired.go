package addonrelease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/helm"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// observeDesired renders the revision, and looks who else claims what is in it.
func (r *Reconciler) observeDesired(ctx context.Context, o *observed, cluster *fleet.Cluster) error {
	content, err := r.content(ctx, types.NamespacedName{Namespace: o.release.Namespace, Name: revisionOf(o.release)})
	if err != nil {
		return err
	}
	owner := ownerOf(o.release)
	if content.Chart != nil {
		release := helm.Release{Namespace: content.Namespace, Name: content.Chart.ReleaseName}
		if holder, ok := cluster.Tracker.Claim(owner, releaseKey(release)); !ok {
			return &sharedReleaseError{release: release, holder: r.holderName(ctx, holder)}
		}
		if err := r.observeHistory(ctx, o, release, cluster); err != nil {
			return err
		}
	}
	rendered, err := r.desired(ctx, o, content, cluster)
	if err != nil {
		return err
	}
	list := rendered.set
	if len(list) > maxInventory {
		return &tooManyError{what: "objects", count: len(list), most: maxInventory}
	}
	o.desired, o.chart, o.desiredKnown = list, rendered.chart, true
	o.recordPending = o.recordPending && o.chart != nil
	if err := checkRecordable(*o); err != nil {
		o.desiredKnown = false
		return err
	}
	o.holders = map[objects.Key]string{}
	for _, d := range list {
		if _, listed := o.inventory[d.Key()]; !listed {
			if holder, ok := cluster.Tracker.Claim(owner, d.Key()); !ok {
				o.holders[d.Key()] = r.holderName(ctx, holder)
				continue
			}
		}
		cluster.Tracker.Tolerate(d.Key(), tolerance(o.release.Spec.Drift, o.rulesVersion, d.Ref, d.environment))
	}
	return nil
}

// holderName says who a person should talk to: the policy, not the target.
func (r *Reconciler) holderName(ctx context.Context, holder fleet.Owner) string {
	release := &addonsv1alpha1.AddonRelease{}
	if err := r.Client.Get(ctx, holder.NamespacedName, release); err == nil {
		return fmt.Sprintf("SaaSAddon %s/%s", release.Namespace, release.Labels[metav1alpha1.LabelPolicy])
	}
	return fmt.Sprintf("%s %s", holder.Kind, holder.NamespacedName)
}

// sharedReleaseError is a Helm release that another target keeps.
type sharedReleaseError struct {
	release helm.Release
	holder  string
}

func (e *sharedReleaseError) Error() string {
	return fmt.Sprintf("Helm release %s belongs to %s; set spec.source.chart.releaseName, or another namespace", e.release, e.holder)
}

// tooManyError is an add-on that is larger than one may be.
type tooManyError struct {
	what        string
	count, most int
}

func (e *tooManyError) Error() string {
	return fmt.Sprintf("the add-on has %d %s, more than the %d that one may have; split it", e.count, e.what, e.most)
}

// revisionOf is the revision to work with: when the release ends, the one that is installed.
func revisionOf(release *addonsv1alpha1.AddonRelease) string {
	if !release.DeletionTimestamp.IsZero() && release.Status.Revision != "" {
		return release.Status.Revision
	}
	return release.Spec.Revision
}

// inputsOf are the inputs of what is to be in the cluster; when the release ends, of what is there.
func (r *Reconciler) inputsOf(release *addonsv1alpha1.AddonRelease) string {
	if !release.DeletionTimestamp.IsZero() && release.Status.InputsHash != "" {
		return release.Status.InputsHash
	}
	return r.inputsHash(release)
}

// inputsHash is over everything that the desired objects are made from. A revision never changes, so
// its name stands for its content.
func (r *Reconciler) inputsHash(release *addonsv1alpha1.AddonRelease) string {
	inputs, err := json.Marshal([]any{
		release.Spec.Revision, release.Spec.ClusterRef, release.Spec.Cluster, r.Installation,
	})
	if err != nil {
		// Strings and maps of strings always marshal.
		panic(err)
	}
	digest := sha256.Sum256(inputs)
	return hex.EncodeToString(digest[:8])
}

func clusterKey(release *addonsv1alpha1.AddonRelease) types.NamespacedName {
	return types.NamespacedName{Namespace: release.Spec.ClusterRef.Namespace, Name: release.Spec.ClusterRef.Name}
}

const ownerKind = "AddonRelease"

func ownerOf(release *addonsv1alpha1.AddonRelease) fleet.Owner {
	return fleet.Owner{Kind: ownerKind, NamespacedName: types.NamespacedName{Namespace: release.Namespace, Name: release.Name}}
}
