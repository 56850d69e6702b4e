package certificatebundle

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
)

// maxLeftOut is how many certificates that are left out a status names.
const maxLeftOut = 10

// readTrust reads the trust anchors of a bundle; nil if it has none.
func (r *Reconciler) readTrust(ctx context.Context, policyBundle *certificatesv1alpha1.CertificateBundle, now time.Time) (*certificatecontent.Trust, *policy.Stall, error) {
	trust := policyBundle.Spec.Trust
	if trust == nil {
		return nil, nil, nil
	}
	var own bytes.Buffer
	for i, source := range trust.Sources {
		field := fmt.Sprintf("spec.trust.sources[%d]", i)
		text, stall, err := r.readSource(ctx, policyBundle.Namespace, field, source)
		if stall != nil || err != nil {
			return nil, stall, err
		}
		// Each by itself, so that the message names the one that is wrong.
		// One whose certificates have all expired is no mistake of this kind, and another source may make up for it.
		if alone, err := issuance.Anchors(text, now); err != nil && len(alone.Expired) == 0 {
			return nil, trustInvalid(fmt.Sprintf("%s (%s %s, key %s)", field, source.Kind, source.Name, source.Key), err), nil
		}
		own.Write(text)
		own.WriteByte('\n')
	}
	if len(trust.Sources) == 0 && !trust.DefaultCAs {
		// The bundle's own authorities are told to each delivery by itself.
		return &certificatecontent.Trust{Targets: trust.Targets}, nil, nil
	}
	all := bytes.Clone(own.Bytes())
	if trust.DefaultCAs {
		all = append(all, publicAuthorities()...)
	}
	anchors, err := issuance.Anchors(all, now)
	if err != nil {
		return nil, trustInvalid("spec.trust", err), nil
	}
	r.anchors.note(client.ObjectKeyFromObject(policyBundle), anchors.EarliestNotAfter)
	ofSources, _ := issuance.Anchors(own.Bytes(), now) // What is wrong with them was told above.
	return &certificatecontent.Trust{PEM: string(anchors.PEM), Summary: summaryOf(anchors, ofSources.EarliestNotAfter), Targets: trust.Targets}, nil, nil
}

// anchorExpiries remembers when the first anchor of each bundle expires. They are read again after a restart.
type anchorExpiries struct {
	mu    sync.Mutex
	known map[types.NamespacedName]time.Time
}

func (e *anchorExpiries) note(bundle types.NamespacedName, first time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil {
		e.known = map[types.NamespacedName]time.Time{}
	}
	e.known[bundle] = first
}

// expiryOf is zero where it is not known, or never comes.
func (e *anchorExpiries) expiryOf(bundle types.NamespacedName) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[bundle]
}

func (e *anchorExpiries) forget(bundle types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, bundle)
}

func trustInvalid(where string, err error) *policy.Stall {
	return &policy.Stall{Reason: certificatesv1alpha1.ReasonTrustInvalid, Message: where + ": " + err.Error()}
}

// readSource reads the text of a source.
func (r *Reconciler) readSource(ctx context.Context, namespace, field string, source certificatesv1alpha1.TrustSource) ([]byte, *policy.Stall, error) {
	key := types.NamespacedName{Namespace: namespace, Name: source.Name}
	if source.Kind == "Secret" {
		secret, stall, err := reference.Secret(ctx, r.APIReader, key, field)
		if stall != nil || err != nil {
			return nil, stall, err
		}
		text, ok := secret.Data[source.Key]
		if !ok {
			return nil, missingKey(field, source.Kind, secret, source.Key), nil
		}
		return text, nil, nil
	}
	config, stall, err := reference.ConfigMap(ctx, r.APIReader, key, field)
	if stall != nil || err != nil {
		return nil, stall, err
	}
	if text, ok := config.Data[source.Key]; ok {
		return []byte(text), nil, nil
	}
	if text, ok := config.BinaryData[source.Key]; ok {
		return text, nil, nil
	}
	return nil, missingKey(field, source.Kind, config, source.Key), nil
}

// publicAuthorities are those that Mozilla trusts without a condition, in PEM. A root that it trusts for some names or some
// certificates alone is left out, since a file of anchors cannot say so.
var publicAuthorities = sync.OnceValue(func() string {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // A buffer takes everything.
	}
	return text.String()
})

// summaryOf tells of anchors what people need to know. When public authorities expire is nothing that they could do anything
// about.
func summaryOf(anchors issuance.Bundle, ownExpire time.Time) certificatesv1alpha1.AnchorSummary {
	summary := certificatesv1alpha1.AnchorSummary{Count: int32(len(anchors.Anchors)), Hash: anchors.Hash[:16]}
	if !ownExpire.IsZero() {
		expires := metav1.NewTime(ownExpire).Rfc3339Copy()
		summary.Expires = &expires
	}
	for i, one := range anchors.Expired {
		if i == maxLeftOut-1 && len(anchors.Expired) > maxLeftOut {
			summary.LeftOut = append(summary.LeftOut, fmt.Sprintf("and %d more that have expired", len(anchors.Expired)-i))
			break
		}
		summary.LeftOut = append(summary.LeftOut, fmt.Sprintf("%s expired at %s", one.Name, one.NotAfter.UTC().Format(time.RFC3339)))
	}
	return summary
}
