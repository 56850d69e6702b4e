package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
)

// lookAgain is when to look again at what no watch tells of.
const lookAgain = time.Minute

// observe reads everything once. The cluster is nil if there is none to work with.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (observation, *fleet.Cluster, error) {
	o := observation{now: r.Clock.Now()}
	delivery := &certificatesv1alpha1.CertificateDelivery{}
	err := r.Client.Get(ctx, key, delivery)
	if client.IgnoreNotFound(err) != nil {
		return o, nil, fmt.Errorf("read CertificateDelivery %s: %w", key, err)
	}
	if err != nil || delivery.Spec.SignerName == "" || !delivery.DeletionTimestamp.IsZero() {
		r.end(key)
		_, err := r.observeMade(ctx, key, &o, nil)
		return o, nil, err
	}
	o.delivery = delivery
	known := r.memory.of(key)
	r.memory.note(known, types.NamespacedName(delivery.Spec.ClusterRef))
	cluster, preconditions, err := r.Cluster(ctx, delivery)
	if err != nil || cluster == nil {
		o.wait = true
		return o, nil, err
	}
	o.clusterID = cluster.ID
	if preconditions.Suspension.Active {
		o.trouble = &trouble{reason: metav1alpha1.ReasonSuspended, message: preconditions.Suspension.String(), again: preconditions.Suspension.Until, usable: true}
		return o, cluster, nil
	}
	return o, cluster, r.observeAll(ctx, key, &o, known, cluster)
}

// observeAll looks at what is needed to answer requests, until something is in the way.
func (r *Reconciler) observeAll(ctx context.Context, key types.NamespacedName, o *observation, known *remembered, cluster *fleet.Cluster) error {
	for _, step := range []func() error{
		func() error { return r.observeSigner(ctx, o) },
		func() error { return r.observePolicy(ctx, o, known) },
		func() error { return r.observeRequests(ctx, key, o, known, cluster) },
		func() error {
			presence, err := r.observeMade(ctx, key, o, known)
			if presence == optionalkind.NotInstalled {
				o.trouble = &trouble{
					reason:  certificatesv1alpha1.ReasonCertManagerUnavailable,
					message: "cert-manager is not installed in the management cluster: install it", again: o.now.Add(lookAgain),
				}
			}
			return err
		},
	} {
		if err := step(); err != nil || o.trouble != nil || o.wait {
			return err
		}
	}
	return nil
}

// observeSigner finds out whether the provider answers requests of that signer in the cluster. A customer cannot take it over by
// a bundle with the name of the provider's.
func (r *Reconciler) observeSigner(ctx context.Context, o *observation) error {
	if o.delivery.Namespace == r.ProviderNamespace {
		return nil
	}
	// The names of deliveries follow from those of bundle and cluster.
	other := &certificatesv1alpha1.CertificateDelivery{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: r.ProviderNamespace, Name: o.delivery.Name}, other)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look for another bundle with the signer %s: %w", o.delivery.Spec.SignerName, err)
	}
	if err == nil && other.Spec.SignerName == o.delivery.Spec.SignerName && other.Spec.ClusterRef == o.delivery.Spec.ClusterRef {
		o.trouble = &trouble{
			reason:  certificatesv1alpha1.ReasonSignerTaken,
			message: fmt.Sprintf("the provider answers requests for %s in this cluster: give the bundle another name", o.delivery.Spec.SignerName), again: o.now.Add(lookAgain),
		}
	}
	return nil
}

// observePolicy reads the policy from the revision, once for each. A revision never changes.
func (r *Reconciler) observePolicy(ctx context.Context, o *observation, known *remembered) error {
	spec := o.delivery.Spec
	inputs, err := json.Marshal([]any{spec.Revision, spec.SignerName, spec.ClusterRef, spec.Cluster})
	if err != nil {
		return err
	}
	if known.policy == nil || known.inputs != string(inputs) {
		content, err := certificatecontent.Read(ctx, r.APIReader, types.NamespacedName{Namespace: o.delivery.Namespace, Name: spec.Revision})
		if err != nil {
			return fmt.Errorf("read the policy of requests: %w", err)
		}
		if content.Relay == nil {
			o.wait = true // The revision is one of before.
			return nil
		}
		found, err := policyFor(spec.SignerName, content.Relay, clustertemplate.Cluster{ClusterReference: spec.ClusterRef, ClusterParameters: spec.Cluster})
		if err != nil {
			o.trouble = &trouble{reason: metav1alpha1.ReasonInvalidSpec, message: err.Error()}
			return nil
		}
		known.policy, known.inputs, known.verdicts = found, string(inputs), nil
	}
	o.policy = known.policy
	return nil
}

// observeRequests looks at what a watch of the cluster shows.
func (r *Reconciler) observeRequests(ctx context.Context, key types.NamespacedName, o *observation, known *remembered, cluster *fleet.Cluster) error {
	shown, err := cluster.Observe(ctx, ownerOf(key), selectionOf(o.policy.signer))
	unavailable := shown.Unknown
	if meta.IsNoMatchError(err) {
		unavailable, err = "the cluster does not serve them in certificates.k8s.io/v1", nil
	}
	switch {
	case err != nil:
		return err
	case unavailable != "":
		o.trouble = &trouble{
			reason:  certificatesv1alpha1.ReasonRequestsUnavailable,
			message: "the CertificateSigningRequests of the cluster cannot be watched: " + unavailable, again: o.now.Add(lookAgain),
		}
	case shown.Pending():
		o.wait = true
	default:
		o.requests, o.incomplete = known.check(requestsOf(shown.Objects, o.policy.signer)), shown.Incomplete
	}
	return nil
}

// observeMade looks at the CertificateRequests of a delivery: at all of them by their metadata, and at those whole that are not
// known to be final, or that a request waits for.
func (r *Reconciler) observeMade(ctx context.Context, key types.NamespacedName, o *observation, known *remembered) (optionalkind.Presence, error) {
	// What is read here does not matter: it begins to watch the kind.
	_, presence, err := r.requests.Look(ctx, key)
	if meta.IsNoMatchError(err) || presence == optionalkind.NotInstalled {
		return optionalkind.NotInstalled, client.IgnoreNotFound(ignoreNoMatch(err))
	}
	if err != nil {
		return presence, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(certificateRequestKind.GroupVersion().WithKind("CertificateRequestList"))
	if err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels{metav1alpha1.LabelDelivery: key.Name}); err != nil {
		return presence, fmt.Errorf("list the CertificateRequests of CertificateDelivery %s: %w", key, err)
	}
	o.made = map[string]certificateRequest{}
	for _, one := range list.Items {
		if owner := metav1.GetControllerOf(&one); owner == nil || owner.Kind != "CertificateDelivery" || owner.Name != key.Name {
			continue // It has the label from somebody else.
		}
		o.made[one.Name] = certificateRequest{name: one.Name, uid: one.UID, created: one.CreationTimestamp.Time, deleted: one.DeletionTimestamp != nil}
	}
	if known == nil {
		return presence, nil
	}
	known.addAsked(o)
	return presence, r.readMade(ctx, o, known)
}

func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// addAsked adds the CertificateRequests that the cache does not show yet, and forgets the others.
func (r *remembered) addAsked(o *observation) {
	for name, at := range r.asked {
		if _, shown := o.made[name]; shown {
			delete(r.asked, name)
			continue
		}
		o.made[name] = certificateRequest{name: name, created: at}
	}
	for name := range r.final {
		if _, is := o.made[name]; !is {
			delete(r.final, name)
		}
	}
}

// readMade reads CertificateRequests past the cache, which holds the metadata alone.
func (r *Reconciler) readMade(ctx context.Context, o *observation, known *remembered) error {
	needed := map[string]bool{}
	for _, one := range o.requests {
		if one.isOpen() && one.denied == nil {
			needed[certificateRequestName(o.delivery, o.clusterID, one.request, one.wanted, o.policy)] = true
		}
	}
	for name, one := range o.made {
		if !needed[name] && known.final[name] {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(certificateRequestKind)
		err := r.APIReader.Get(ctx, types.NamespacedName{Namespace: o.delivery.Namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			delete(o.made, name)
			delete(known.asked, name)
			continue
		}
		if err != nil {
			return fmt.Errorf("read CertificateRequest %s/%s: %w", o.delivery.Namespace, name, err)
		}
		one.object, one.uid = object, object.GetUID()
		o.made[name], known.final[name] = one, stateOf(object).isFinal()
	}
	return nil
}

// end ends the watch of a delivery's requests, and forgets what is remembered.
func (r *Reconciler) end(key types.NamespacedName) {
	if cluster, connected := r.Fleet.Get(r.memory.clusterOf(key)); connected {
		cluster.RetainObservations(ownerOf(key), func(fleet.Selection) bool { return false })
	}
	r.memory.forget(key)
}

// ownerKind is of the owners of watches. It is no kind of objects, so that a delivery is not worked on for each request.
const ownerKind = "CertificateRelay"

func ownerOf(delivery types.NamespacedName) tracker.Owner {
	return tracker.Owner{Kind: ownerKind, NamespacedName: delivery}
}
