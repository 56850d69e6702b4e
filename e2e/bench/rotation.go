package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

const (
	rotationRow = "ca_rotation_20"
	// rotationWait is how long a rotation waits before leaves are replaced, and again before the old anchor is removed: as short as
	// whole seconds, which a status has, can tell.
	rotationWait = time.Second
	// anchors is the ConfigMap with what a cluster trusts.
	anchors = "anchors"
)

// rotate measures how long it takes from the token of a rotation until all clusters have a leaf of the new authority and trust no
// other. The floor makes an authority, and does the same in the same order, with the same two waits; it acknowledges nothing and
// remembers nothing.
func (c *certified) rotate(ctx context.Context) ([]result, error) {
	bundle, err := c.createRotated(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := c.openBareRotation(ctx)
	if err != nil {
		return nil, err
	}
	var ours, floors []float64
	for round := range certificateRounds {
		took, err := c.timeRotation(ctx, bundle)
		if err != nil {
			return nil, err
		}
		least, err := bare.rotate(ctx)
		if err != nil {
			return nil, err
		}
		c.progressf("round %d: rotated after %.2f s, floor %.2f s, of which %s are waits", round, took.Seconds(), least.Seconds(), 2*rotationWait)
		ours, floors = append(ours, took.Seconds()), append(floors, least.Seconds())
	}
	return []result{newResult(rotationRow, "s", median(ours), median(floors))}, nil
}

// createRotated makes a bundle with an authority of its own, and returns when it is in all clusters.
func (c *certified) createRotated(ctx context.Context) (*certificatesv1alpha1.CertificateBundle, error) {
	bundle := c.newCertificateBundle("rotated")
	place := certificatesv1alpha1.Placement{Namespaces: []string{certifiedNamespace}}
	bundle.Spec.IssuerRef, bundle.Spec.CA = nil, &certificatesv1alpha1.ManagedAuthority{}
	bundle.Spec.Trust = &certificatesv1alpha1.Trust{Targets: []certificatesv1alpha1.TrustTarget{{Placement: place, Kind: "ConfigMap", Name: anchors}}}
	wait := metav1.Duration{Duration: rotationWait}
	bundle.Spec.Rotation = &certificatesv1alpha1.RotationSpec{TrustPropagation: wait, MinOverlap: wait}
	bundles := []*certificatesv1alpha1.CertificateBundle{bundle}
	_, err := c.timeDeliveries(ctx, bundles, func() error { return c.createBundles(ctx, bundles) })
	return bundle, err
}

// timeRotation rotates the authority of a bundle.
func (c *certified) timeRotation(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) (time.Duration, error) {
	watching, err := c.env.Admin.Watch(ctx, &certificatesv1alpha1.CertificateBundleList{}, client.InNamespace(bundle.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", bundle.Name)})
	if err != nil {
		return 0, err
	}
	defer watching.Stop()
	if err := c.env.Admin.Get(ctx, client.ObjectKeyFromObject(bundle), bundle); err != nil {
		return 0, err
	}
	next := bundle.Status.Rotation.Current.Generation + 1
	patch := fmt.Sprintf(`{"spec":{"rotation":{"ca":"to-%d"}}}`, next)
	start := time.Now()
	if err := c.env.Admin.Patch(ctx, bundle, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return 0, err
	}
	err = awaitTargets(ctx, watching, 1, func(bundle *certificatesv1alpha1.CertificateBundle) bool {
		told := bundle.Status.Rotation
		return told != nil && told.Phase == certificatesv1alpha1.RotationIdle && told.Current.Generation == next && told.Next.Generation == 0
	})
	if err != nil {
		return 0, fmt.Errorf("rotation to authority %d: %w", next, err)
	}
	took := time.Since(start)
	return took, c.confirmRotation(ctx)
}

// confirmRotation looks whether each cluster trusts one authority, which is that of its leaf, and lets the manager come to rest.
func (c *certified) confirmRotation(ctx context.Context) error {
	for _, cluster := range c.fleet {
		workload, err := c.env.Workload(cluster.Name())
		if err != nil {
			return err
		}
		trusted, leaf := &corev1.ConfigMap{}, &corev1.Secret{}
		if err := workload.Get(ctx, namespaced(certifiedNamespace, anchors), trusted); err != nil {
			return err
		}
		if err := workload.Get(ctx, namespaced(certifiedNamespace, "rotated"), leaf); err != nil {
			return err
		}
		text := trusted.Data["ca.crt"]
		if count := strings.Count(text, "BEGIN CERTIFICATE"); count != 1 {
			return fmt.Errorf("%s trusts %d authorities after the rotation", cluster.Name(), count)
		}
		if err := (bareDelivery{host: hostOf("rotated", cluster.Name()), data: leaf.Data}).check(rootsOf(text)); err != nil {
			return fmt.Errorf("what %s trusts after the rotation: %w", cluster.Name(), err)
		}
	}
	return c.quiet(ctx)
}

// bareRotation rotates without Daytwo.
type bareRotation struct {
	*certified
	wanted     map[string]bareCertificate
	current    *bareAuthority
	generation int
}

// openBareRotation makes the first authority, and has all clusters trust it and have a leaf of it.
func (c *certified) openBareRotation(ctx context.Context) (*bareRotation, error) {
	first, err := c.createAuthority(ctx, "bare-ca-0")
	if err != nil {
		return nil, err
	}
	r := &bareRotation{certified: c, current: first, wanted: c.wantedOf([]*certificatesv1alpha1.CertificateBundle{c.newCertificateBundle("rotated")})}
	if err := r.trust(ctx, first); err != nil {
		return nil, err
	}
	_, err = c.issueBare(ctx, r.wanted, "rotation", first)
	return r, err
}

func (r *bareRotation) rotate(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	r.generation++
	next, err := r.createAuthority(ctx, fmt.Sprintf("bare-ca-%d", r.generation))
	if err != nil {
		return 0, err
	}
	if err := r.trust(ctx, r.current, next); err != nil {
		return 0, err
	}
	if err := pause(ctx, rotationWait); err != nil {
		return 0, err
	}
	if _, err := r.issueBare(ctx, r.wanted, "rotation", next); err != nil {
		return 0, err
	}
	if err := pause(ctx, rotationWait); err != nil {
		return 0, err
	}
	r.current = next
	err = r.trust(ctx, next)
	return time.Since(start), err
}

// trust has all clusters trust some authorities, and no other.
func (r *bareRotation) trust(ctx context.Context, authorities ...*bareAuthority) error {
	var text strings.Builder
	for _, authority := range authorities {
		text.WriteString(authority.pem)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"ca.crt": text.String()}}}
	object.SetName(anchors)
	ready, err := bareObject(object, bareCertified)
	if err != nil {
		return err
	}
	return r.everywhere(func(i int) error { return r.bare[i].ApplyAll(ctx, []floor.Object{ready}, 1) })
}
