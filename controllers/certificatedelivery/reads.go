package certificatedelivery

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxRevisions is how much of revisions is kept, in bytes of their content.
	maxRevisions = 8 << 20
	// revisionLifetime is how long a revision is kept. It holds the passwords of keystores, so it is kept no longer than a
	// rollout takes from one cluster to the next.
	revisionLifetime = time.Minute
)

// sharedReads are reads of what the deliveries of a rollout all ask for at the same time. Safe for concurrent use.
type sharedReads struct{ issuances singleflight.Group }

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
