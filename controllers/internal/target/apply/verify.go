package apply

import (
	"context"
	"fmt"
	"slices"
)

// VerificationError says why a target's objects must not be written as they are. No further try helps.
type VerificationError struct {
	// Reason is for people; it holds nothing secret.
	Reason string
}

// Error implements error.
func (e *VerificationError) Error() string { return e.Reason }

// verify lets the target look at what is about to be written. It asks nothing about a plan that writes nothing.
func (a *Applier) verify(ctx context.Context, p Plan) error {
	writes := slices.Concat(p.Prerequisites, p.Rest)
	if a.Verify == nil || len(writes) == 0 {
		return nil
	}
	list := make([]Object, 0, len(writes))
	for _, w := range writes {
		list = append(list, w.Object)
	}
	if err := a.Verify(ctx, list); err != nil {
		return fmt.Errorf("verify before it is applied: %w", err)
	}
	return nil
}
