package webhooks

import (
	"context"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// miscellaneous is the code of all warnings that an API server sends (RFC 7234, 5.5).
const miscellaneous = 299

type collectionKey struct{}

// collection are the warnings to what was asked with one context.
type collection struct {
	mu    sync.Mutex
	texts admission.Warnings
}

// collecting returns a context that collects warnings.
func collecting(ctx context.Context) (context.Context, *collection) {
	collected := &collection{}
	return context.WithValue(ctx, collectionKey{}, collected), collected
}

// add keeps a warning once, however often it comes.
func (c *collection) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != "" && !slices.Contains(c.texts, text) {
		c.texts = append(c.texts, text)
	}
}

func (c *collection) all() admission.Warnings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.texts)
}

// warningCollector hands the API server's warnings to the collection of the request's context.
type warningCollector struct{}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (warningCollector) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if collected, ok := ctx.Value(collectionKey{}).(*collection); ok && code == miscellaneous {
		collected.add(text)
	}
}
