package addonrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// maxRenderings is how many renderings that cannot be made again are kept: that of the current revision
// and those that the history may go back to. The CRD says the same.
const maxRenderings = 6

// renderings are those of one target's chart that cannot be made again, in the management cluster.
type renderings struct {
	client    client.Client
	apiReader client.Reader
	owner     revision.Owner
}

func keptRendering(status *addonsv1alpha1.HelmRelease, inputs string) string {
	if status == nil {
		return ""
	}
	for _, kept := range status.Renderings {
		if kept.InputsHash == inputs {
			return kept.Name
		}
	}
	return ""
}

// recall reads a rendering that was kept.
func (r renderings) recall(ctx context.Context, name string) (*render.RenderedChart, error) {
	key := types.NamespacedName{Namespace: r.owner.Object.GetNamespace(), Name: name}
	raw, err := revision.Read(ctx, r.apiReader, key)
	if err != nil {
		return nil, fmt.Errorf("the rendering that was kept: %w", err)
	}
	rendered := &render.RenderedChart{}
	if err := json.Unmarshal(raw, rendered); err != nil {
		return nil, fmt.Errorf("the rendering that was kept, %s: %w", key, err)
	}
	rendered.Volatile = false
	return rendered, nil
}

// keep stores a rendering that cannot be made again, before anything of it is applied, and
// drops the oldest ones.
func (r renderings) keep(ctx context.Context, o helmObservation, status *helmStatus, journal helmJournal) error {
	if keptRendering(status.value, o.inputs) != "" {
		status.value.Renderings = latestUsed(status.value.Renderings, o)
		return nil
	}
	if o.chart.volatile == nil {
		return nil
	}
	snapshot, err := revision.EncodeSnapshot(r.owner.Object.GetName(), o.chart.volatile)
	if err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	if err := revision.Write(ctx, r.client, r.apiReader, r.owner, snapshot); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	said := status.get()
	list := latestUsed(append(said.Renderings, addonsv1alpha1.KeptRendering{InputsHash: o.inputs, Name: snapshot.Name}), o)
	said.Renderings = list[:min(len(list), maxRenderings)]
	if err := journal.storeHelm(ctx, said); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	o.chart.volatile = nil // From now on it is recalled.
	return r.prune(ctx, said.Renderings)
}

// latestUsed moves the rendering that is used, and the one that is deployed, to the front: those that
// were not used for the longest time are dropped first.
func latestUsed(list []addonsv1alpha1.KeptRendering, o helmObservation) []addonsv1alpha1.KeptRendering {
	rank := func(kept addonsv1alpha1.KeptRendering) int {
		switch kept.InputsHash {
		case o.inputs:
			return 0
		case o.deployed:
			return 1
		}
		return 2
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b addonsv1alpha1.KeptRendering) int { return rank(a) - rank(b) })
	return list
}

// prune removes those that the status does not name: the oldest, and what a manager that died
// stored and never used.
func (r renderings) prune(ctx context.Context, kept []addonsv1alpha1.KeptRendering) error {
	stored, err := revision.List(ctx, r.apiReader, r.owner)
	if err != nil {
		return err
	}
	for _, one := range stored {
		named := slices.ContainsFunc(kept, func(k addonsv1alpha1.KeptRendering) bool { return k.Name == one.Name })
		if named {
			continue
		}
		if err := revision.Remove(ctx, r.client, r.owner.Object.GetNamespace(), one); err != nil {
			return err
		}
	}
	return nil
}
