package helm

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

// Renderings are those of one target's chart that cannot be made again, in the management cluster.
type Renderings struct {
	Client    client.Client
	APIReader client.Reader
	Owner     revision.Owner
}

// KeptRendering names the rendering of inputs that was kept; empty if none was.
func KeptRendering(status *addonsv1alpha1.HelmRelease, inputs string) string {
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

// Recall reads a rendering that was kept.
func (r Renderings) Recall(ctx context.Context, name string) (*render.RenderedChart, error) {
	key := types.NamespacedName{Namespace: r.Owner.Object.GetNamespace(), Name: name}
	raw, err := revision.Read(ctx, r.APIReader, key)
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
func (r Renderings) keep(ctx context.Context, o Observation, status *releaseStatus, journal *Journal) error {
	if KeptRendering(status.value, o.Inputs) != "" {
		status.value.Renderings = latestUsed(status.value.Renderings, o)
		return nil
	}
	if o.Chart.volatile == nil {
		return nil
	}
	snapshot, err := revision.EncodeSnapshot(r.Owner.Object.GetName(), o.Chart.volatile)
	if err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	if err := revision.Write(ctx, r.Client, r.APIReader, r.Owner, snapshot); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	said := status.get()
	list := latestUsed(append(said.Renderings, addonsv1alpha1.KeptRendering{InputsHash: o.Inputs, Name: snapshot.Name}), o)
	said.Renderings = list[:min(len(list), maxRenderings)]
	if err := store(ctx, journal, said); err != nil {
		return fmt.Errorf("keep the rendering: %w", err)
	}
	o.Chart.volatile = nil // From now on it is recalled.
	return r.prune(ctx, said.Renderings)
}

// latestUsed moves the rendering that is used, and the one that is deployed, to the front: those that
// were not used for the longest time are dropped first.
func latestUsed(list []addonsv1alpha1.KeptRendering, o Observation) []addonsv1alpha1.KeptRendering {
	rank := func(kept addonsv1alpha1.KeptRendering) int {
		switch kept.InputsHash {
		case o.Inputs:
			return 0
		case o.Deployed:
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
func (r Renderings) prune(ctx context.Context, kept []addonsv1alpha1.KeptRendering) error {
	stored, err := revision.List(ctx, r.APIReader, r.Owner)
	if err != nil {
		return err
	}
	for _, one := range stored {
		named := slices.ContainsFunc(kept, func(k addonsv1alpha1.KeptRendering) bool { return k.Name == one.Name })
		if named {
			continue
		}
		if err := revision.Remove(ctx, r.Client, r.Owner.Object.GetNamespace(), one); err != nil {
			return err
		}
	}
	return nil
}
