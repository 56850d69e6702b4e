package main

import (
	"context"
	"fmt"
)

// steadyAddon is in every cluster from its registration on.
const steadyAddon = "steady"

// populate makes so many of the clusters TenantClusters and returns when the steady add-on is in all
// of them and nothing more happens.
func (b *bench) populate(ctx context.Context, count int) error {
	watching, err := b.watchTargets(ctx, steadyAddon)
	if err != nil {
		return err
	}
	defer watching.Stop()
	for ; b.registered < count; b.registered++ {
		if err := b.env.Register(ctx, fleetNamespace, b.fleet[b.registered].Name(), nil); err != nil {
			return err
		}
		if b.registered > 0 {
			continue
		}
		if err := b.env.Admin.Create(ctx, newAddon(steadyAddon, tenObjects, b.clusters)); err != nil {
			return fmt.Errorf("create the steady add-on: %w", err)
		}
	}
	if err := awaitTargets(ctx, watching, count, isReady); err != nil {
		return err
	}
	b.progressf("%d clusters are registered and have the add-on", count)
	return b.quiet(ctx)
}
