package certificatebundle

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

type content = policy.Content[*certificatesv1alpha1.CertificateBundle]

// Content implements policy.Kind.
func (r *Reconciler) Content(_ context.Context, bundle *certificatesv1alpha1.CertificateBundle, now time.Time) (content, error) {
	if problem := r.Checker.Check(bundle); problem != nil {
		decided := r.decisions.of(client.ObjectKeyFromObject(bundle))
		return content{Stall: problem.stall(), SetStatus: func(told *certificatesv1alpha1.CertificateBundle) { setRotation(told, decided, now) }}, nil
	}
	var read *certificatecontent.Content
	problems := r.problems(bundle)
	expires := r.anchors.expiryOf(client.ObjectKeyFromObject(bundle))
	return content{
		Version: versionAt(expires, now), Again: expires,
		Read: func(ctx context.Context) ([]byte, *policy.Stall, error) {
			decoded, stall, err := r.readContent(ctx, bundle, now)
			if stall != nil || err != nil {
				return nil, stall, err
			}
			read = &decoded
			raw, err := revision.Encode(decoded)
			return raw, nil, err
		},
		SetStatus: func(told *certificatesv1alpha1.CertificateBundle) {
			setRotation(told, r.decisions.of(client.ObjectKeyFromObject(bundle)), now)
			setIssued(told, bundle.Spec.Certificate != nil, problems, now)
			if read != nil { // What was read before is told already.
				setAnchors(told, read.Trust)
			}
		},
	}, nil
}

// versionAt is another one once a trust anchor has expired, so that it is left out.
func versionAt(expires, now time.Time) string {
	if expires.IsZero() || now.Before(expires) {
		return ""
	}
	return "without what expired at " + expires.UTC().Format(time.RFC3339)
}

// problems are the certificates that are not issued.
func (r *Reconciler) problems(bundle *certificatesv1alpha1.CertificateBundle) []issuing.Problem {
	if r.issuing == nil {
		return nil
	}
	return r.issuing.Problems(client.ObjectKeyFromObject(bundle))
}

func setAnchors(bundle *certificatesv1alpha1.CertificateBundle, trust *certificatecontent.Trust) {
	bundle.Status.Anchors = nil
	if trust != nil && trust.Summary.Count > 0 {
		bundle.Status.Anchors = trust.Summary.DeepCopy()
	}
}

func (r *Reconciler) readContent(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, now time.Time) (certificatecontent.Content, *policy.Stall, error) {
	decoded := certificatecontent.Content{Certificate: bundle.Spec.Certificate, Relay: relayOf(bundle), Targets: bundle.Spec.Targets}
	var stall *policy.Stall
	var err error
	if decoded.Passwords, stall, err = r.readPasswords(ctx, bundle); stall != nil || err != nil {
		return decoded, stall, err
	}
	decoded.Trust, stall, err = r.readTrust(ctx, bundle, now)
	return decoded, stall, err
}

// readPasswords reads the passwords of keystores.
func (r *Reconciler) readPasswords(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) (map[string][]byte, *policy.Stall, error) {
	var passwords map[string][]byte
	for i, target := range bundle.Spec.Targets {
		for j, key := range target.Keys {
			if key.PasswordSecretRef == nil {
				continue
			}
			field := fmt.Sprintf("spec.targets[%d].keys[%d].passwordSecretRef", i, j)
			password, stall, err := r.readPassword(ctx, bundle, field, key)
			if stall != nil || err != nil {
				return nil, stall, err
			}
			if passwords == nil {
				passwords = map[string][]byte{}
			}
			passwords[certificatecontent.PasswordKey(key.PasswordSecretRef.Name, key.PasswordSecretRef.Key)] = password
		}
	}
	return passwords, nil, nil
}

func (r *Reconciler) readPassword(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, field string, key certificatesv1alpha1.SecretKey) ([]byte, *policy.Stall, error) {
	ref := key.PasswordSecretRef
	secret, stall, err := reference.Secret(ctx, r.APIReader, types.NamespacedName{Namespace: bundle.Namespace, Name: ref.Name}, field)
	if stall != nil || err != nil {
		return nil, stall, err
	}
	password, ok := secret.Data[ref.Key]
	if !ok {
		return nil, invalid(field, "Secret %s/%s has no key %s: add it", bundle.Namespace, ref.Name, ref.Key).stall(), nil
	}
	check := keystore.PKCS12Options{Password: string(password)}.Check
	if key.Format == certificatesv1alpha1.FormatJKS {
		check = keystore.JKSOptions{Password: string(password)}.Check
	}
	if err := check(); err != nil {
		return nil, invalid(field, "the key %s of Secret %s/%s: %s", ref.Key, bundle.Namespace, ref.Name, err).stall(), nil
	}
	return password, nil, nil
}

// References implements policy.Kind.
func (r *Reconciler) References(bundle *certificatesv1alpha1.CertificateBundle) []policy.Reference {
	var found []policy.Reference
	for _, target := range bundle.Spec.Targets {
		for _, key := range target.Keys {
			if key.PasswordSecretRef != nil {
				found = append(found, policy.Reference{Kind: "Secret", Name: key.PasswordSecretRef.Name})
			}
		}
	}
	if told := bundle.Status.Rotation; told != nil {
		for _, known := range []certificatesv1alpha1.AuthorityReference{told.Current, told.Next} {
			if known.Generation != 0 {
				found = append(found, policy.Reference{Kind: "Secret", Name: authority.Name(bundle.Name, known.Generation), Access: true})
			}
		}
	}
	if bundle.Spec.Trust != nil {
		for _, source := range bundle.Spec.Trust.Sources {
			found = append(found, policy.Reference{Kind: source.Kind, Name: source.Name})
		}
	}
	return found
}

// missingKey is a stall for a key that an object lacks.
func missingKey(field, kind string, object client.Object, key string) *policy.Stall {
	return &policy.Stall{
		Reason:  metav1alpha1.ReasonReferenceNotFound,
		Message: fmt.Sprintf("%s: %s %s/%s has no key %s: add it, or name another one", field, kind, object.GetNamespace(), object.GetName(), key),
	}
}
