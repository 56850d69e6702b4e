package revision

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cache shares the reads of revisions whose content is a C. The targets of a rollout all ask for one revision at the same time. A revision
// is named after its content, so what is kept is right for as long as anything names it. Safe for concurrent use.
type Cache[C interface{ Size() int }] struct {
	*otter.Cache[types.NamespacedName, C]
}

// NewCache returns a cache that keeps at most so many bytes of content, each revision for a lifetime; zero is for ever.
func NewCache[C interface{ Size() int }](most uint64, lifetime time.Duration) Cache[C] {
	options := &otter.Options[types.NamespacedName, C]{
		MaximumWeight: most, Weigher: func(_ types.NamespacedName, content C) uint32 { return uint32(content.Size()) },
	}
	if lifetime > 0 {
		options.ExpiryCalculator = otter.ExpiryWriting[types.NamespacedName, C](lifetime)
	}
	return Cache[C]{otter.Must(options)}
}

// Read the content of a revision. It belongs to all that ask for it, and must not be changed.
func (c Cache[C]) Read(ctx context.Context, reader client.Reader, key types.NamespacedName) (C, error) {
	return c.Get(ctx, key, otter.LoaderFunc[types.NamespacedName, C](func(ctx context.Context, key types.NamespacedName) (C, error) {
		return ReadAs[C](ctx, reader, key)
	}))
}
