package authority

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// index of Secrets, by the bundle whose authorities they are for.
const index = "daytwo.authority"

// cacheLag is how long after it was made an authority may be missing in the cache.
const cacheLag = 30 * time.Second

// Store keeps the authorities of bundles.
type Store struct {
	// Client reads from the manager's cache, which holds Secrets as metadata only.
	Client client.Client
	// APIReader reads from the API server.
	APIReader client.Reader

	mu sync.Mutex
	// roots that were read, and made those that the cache may not show yet.
	roots map[secretKey]Root
	made  map[types.NamespacedName]madeRoot
}

// secretKey names one Secret, and no other of its name.
type secretKey struct {
	types.NamespacedName
	uid types.UID
}

type madeRoot struct {
	Root
	at time.Time
}

// AddIndex has the cache find the Secrets of bundles.
func AddIndex(ctx context.Context, indexer client.FieldIndexer) error {
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	return indexer.IndexField(ctx, secret, index, func(object client.Object) []string {
		if bundle := object.GetLabels()[metav1alpha1.LabelAuthority]; bundle != "" {
			return []string{bundle}
		}
		return nil
	})
}

// List returns the authorities of a bundle, the oldest first. Generations that are needed are looked for past the cache, too, where it does
// not show them.
func (s *Store) List(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, now time.Time, needed ...int64) ([]Root, error) {
	secrets, err := s.list(ctx, bundle)
	if err != nil {
		return nil, err
	}
	var found []Root
	known := map[int64]bool{}
	for i := range secrets {
		generation := generationOf(bundle.Name, secrets[i].Name)
		if generation == 0 || !isOf(&secrets[i], bundle) {
			continue
		}
		root, err := s.read(ctx, bundle, generation, &secrets[i])
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, err
		}
		found = append(found, root)
		known[generation] = true
	}
	for _, root := range s.notShown(bundle, known, now) {
		found, known[root.Generation] = append(found, root), true
	}
	for _, generation := range needed {
		if known[generation] {
			continue
		}
		root, err := s.get(ctx, bundle, generation)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, err
		}
		found, known[generation] = append(found, root), true
	}
	slices.SortFunc(found, func(a, b Root) int { return int(a.Generation - b.Generation) })
	return found, nil
}

// notShown are authorities that were made just now.
func (s *Store) notShown(bundle *certificatesv1alpha1.CertificateBundle, shown map[int64]bool, now time.Time) (roots []Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.made {
		if key.Namespace != bundle.Namespace || Name(bundle.Name, one.Generation) != key.Name {
			continue
		}
		if shown[one.Generation] || now.After(one.at.Add(cacheLag)) {
			delete(s.made, key)
			continue
		}
		roots = append(roots, one.Root)
	}
	return roots
}

func (s *Store) list(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) ([]metav1.PartialObjectMetadata, error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := s.Client.List(ctx, secrets, client.InNamespace(bundle.Namespace), client.MatchingFields{index: bundle.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the authorities of %s/%s: %w", bundle.Namespace, bundle.Name, err)
	}
	return secrets.Items, nil
}

// read returns the certificate in a Secret, which never changes.
func (s *Store) read(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, generation int64, secret client.Object) (Root, error) {
	key := secretKey{client.ObjectKeyFromObject(secret), secret.GetUID()}
	s.mu.Lock()
	root, known := s.roots[key]
	s.mu.Unlock()
	if known {
		return root, nil
	}
	root, err := s.get(ctx, bundle, generation)
	if err != nil {
		return Root{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots == nil {
		s.roots = map[secretKey]Root{}
	}
	s.roots[key] = root
	return root, nil
}

func (s *Store) get(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, generation int64) (Root, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: bundle.Namespace, Name: Name(bundle.Name, generation)}
	if err := s.APIReader.Get(ctx, key, secret); err != nil {
		return Root{}, fmt.Errorf("read authority %s: %w", key, err)
	}
	root, err := parseRoot(generation, secret.Data[corev1.TLSCertKey])
	switch {
	case !isOf(secret, bundle):
		return Root{}, &TakenError{Object: fmt.Sprintf("Secret %s", key)}
	case err != nil:
		return Root{}, fmt.Errorf("Secret %s is no authority: %w; restore it from a backup", key, err) //nolint:staticcheck // Secret is a kind.
	}
	return root, nil
}

// Make makes a generation, unless it is there already.
func (s *Store) Make(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, generation int64, now time.Time) (Root, error) {
	root, err := s.get(ctx, bundle, generation)
	if !apierrors.IsNotFound(err) {
		return root, err
	}
	certificate, key, err := newRoot(bundle.Spec.CA, commonNameOf(bundle, generation), now)
	if err != nil {
		return Root{}, err
	}
	secret := rootSecret(bundle, generation, certificate, key)
	if err := s.Client.Create(ctx, secret); err != nil {
		return Root{}, fmt.Errorf("store authority %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	if root, err = parseRoot(generation, certificate); err != nil {
		return Root{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[types.NamespacedName]madeRoot{}
	}
	s.made[client.ObjectKeyFromObject(secret)] = madeRoot{root, now}
	return root, nil
}

// Retire removes a generation, its Issuer first.
func (s *Store) Retire(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, generation int64) error {
	name := Name(bundle.Name, generation)
	if err := s.removeIssuer(ctx, bundle, name); err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("delete Issuer %s/%s: %w", bundle.Namespace, name, err)
	}
	return s.remove(ctx, bundle, name)
}

// RemoveAll removes the authorities of a bundle, and the names of the clusters that take part in a rotation.
func (s *Store) RemoveAll(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := s.APIReader.List(ctx, secrets, client.InNamespace(bundle.Namespace), client.MatchingLabels{metav1alpha1.LabelAuthority: bundle.Name})
	if err != nil {
		return fmt.Errorf("list the authorities of %s/%s: %w", bundle.Namespace, bundle.Name, err)
	}
	var errs []error
	for i := range secrets.Items {
		one := &secrets.Items[i]
		if !isOf(one, bundle) {
			continue
		}
		if generation := generationOf(bundle.Name, one.Name); generation != 0 {
			errs = append(errs, s.Retire(ctx, bundle, generation))
		} else {
			errs = append(errs, s.remove(ctx, bundle, one.Name))
		}
	}
	return errors.Join(errs...)
}

func (s *Store) remove(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, name string) error {
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.Namespace, secret.Name = bundle.Namespace, name
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, secret)); err != nil {
		return fmt.Errorf("delete Secret %s/%s: %w", bundle.Namespace, name, err)
	}
	return nil
}
