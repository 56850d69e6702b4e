package certificatedelivery

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
)

const (
	// maxRevisions is how much of revisions is kept, in bytes of their content.
	maxRevisions = 8 << 20
	// revisionLifetime is how long a revision is kept. It holds the passwords of keystores, so it is kept no longer than a
	// rollout takes from one cluster to the next.
	revisionLifetime = time.Minute
)

// sharedReads are reads of what the deliveries of a rollout all ask for at the same time. Safe for concurrent use; the zero
// value shares the reads of issuances alone.
type sharedReads struct {
	revisions *otter.Cache[types.NamespacedName, certificatecontent.Content]
	issuances singleflight.Group
}

func (s *sharedReads) open() {
	s.revisions = otter.Must(&otter.Options[types.NamespacedName, certificatecontent.Content]{
		MaximumWeight:    maxRevisions,
		Weigher:          func(_ types.NamespacedName, content certificatecontent.Content) uint32 { return uint32(content.Size()) },
		ExpiryCalculator: otter.ExpiryWriting[types.NamespacedName, certificatecontent.Content](revisionLifetime),
	})
}

// content of a revision. It belongs to all that ask for it, and must not be changed. A revision is named after its content, so
// what is kept is right for as long as anything names it.
func (s *sharedReads) content(ctx context.Context, reader client.Reader, key types.NamespacedName) (certificatecontent.Content, error) {
	return s.revisions.Get(ctx, key, otter.LoaderFunc[types.NamespacedName, certificatecontent.Content](
		func(ctx context.Context, key types.NamespacedName) (certificatecontent.Content, error) {
			return certificatecontent.Read(ctx, reader, key)
		}))
}

// issuance is a Secret, read past the cache. Reads of one Secret that are under way at the same time are one request; nothing is kept
// afterwards, since it holds a private key. The Secret belongs to all that ask for it, and must not be changed.
func (s *sharedReads) issuance(ctx context.Context, reader client.Reader, key types.NamespacedName) (*corev1.Secret, error) {
	read, err, shared := s.issuances.Do(key.String(), func() (any, error) { return readSecret(ctx, reader, key) })
	if err != nil && shared && ctx.Err() == nil { // The request was another delivery's, and may have ended with it.
		return readSecret(ctx, reader, key)
	}
	if err != nil {
		return nil, err
	}
	return read.(*corev1.Secret), nil
}

func readSecret(ctx context.Context, reader client.Reader, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	return secret, nil
}
