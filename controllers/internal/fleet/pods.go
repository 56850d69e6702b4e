package fleet

import (
	"context"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/podstate"
)

// PodStates says why the pods of a Job, or the one Pod of that name, are not done, as a person would look for it.
func (c *Cluster) PodStates(ctx context.Context, ref objects.Ref) ([]string, error) {
	selector := "job-name=" + ref.Name
	if ref.Kind == "Pod" {
		selector = ""
	}
	pods, err := c.Pods(ctx, ref.Namespace, selector)
	var states []string
	for i := range pods {
		if ref.Kind == "Pod" && pods[i].Name != ref.Name {
			continue
		}
		states = append(states, podstate.Describe(&pods[i])...)
	}
	return states, err
}
