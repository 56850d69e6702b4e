package apply

import (
	"context"
	"fmt"
)

// leftover is a namespace or definition that was not removed, and why.
type leftover struct {
	Entry
	Because string
}

// askIfEmpty removes a namespace or a definition that Daytwo made, if nothing else is in it. What others put there
// is worth more than tidiness. Of one that was only intended nobody knows whether it was there before: what it
// holds decides.
func (r *remover) askIfEmpty(ctx context.Context, one Removal) Removed {
	content, err := r.cluster.ContentOf(ctx, one.Ref)
	switch {
	case err != nil:
		return r.failed(one, fmt.Errorf("look what is in %s: %w", one.Ref, err))
	case content.Name != "" && content.Passing:
		return r.pending(one, fmt.Sprintf("it still holds %s, which is going", content))
	case content.Name != "":
		return Removed{Removal: one, because: "it still holds " + content.String()}
	}
	return r.ask(ctx, one)
}
