package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// chartContent is what a revision holds of a chart. A chart that is pinned is taken from the revision
// that has it: its repository need not be there any more.
func (r *Reconciler) chartContent(ctx context.Context, found *resolution) (*addoncontent.Chart, *policy.Stall, error) {
	spec := found.addon.Spec.Source.Chart
	content := &addoncontent.Chart{
		Repository: found.chart.Repository, Name: found.chart.Name, Version: found.chart.Version, Digest: found.chart.Digest,
		ReleaseName: spec.ReleaseName, CRDs: string(spec.CRDs), HookTimeout: defaultHookTimeout,
	}
	if content.ReleaseName == "" {
		content.ReleaseName = found.addon.Name
	}
	if content.CRDs == "" {
		content.CRDs = string(addonsv1alpha1.CRDCreateReplace)
	}
	if spec.HookTimeoutSeconds > 0 {
		content.HookTimeout = time.Duration(spec.HookTimeoutSeconds) * time.Second
	}
	values, unusable, err := r.readValues(ctx, found.addon)
	if unusable != nil || err != nil {
		return nil, unusable, err
	}
	content.Values = values
	if unusable, err := r.addArchive(ctx, found, content); unusable != nil || err != nil {
		return nil, unusable, err
	}
	for _, layer := range values {
		// A chart may take templates from its values.
		content.AsksForAPIs = content.AsksForAPIs || strings.Contains(layer.Text, "APIVersions")
	}
	return content, nil, nil
}

func (r *Reconciler) addArchive(ctx context.Context, found *resolution, content *addoncontent.Chart) (*policy.Stall, error) {
	if found.archive == nil {
		stored, err := r.storedChart(ctx, found)
		if err != nil {
			return nil, err
		}
		if stored != nil {
			content.Archive, content.AsksForAPIs = stored.Archive, stored.AsksForAPIs
			return nil, nil
		}
		fetched, unusable, err := r.fetchChart(ctx, found, charts.Source{
			Repository: content.Repository, Name: content.Name, Version: content.Version, Digest: content.Digest,
		})
		if unusable != nil || err != nil {
			return unusable, err
		}
		found.archive = fetched.Archive
	}
	info, err := r.Inspector.InspectChart(ctx, found.addon.Namespace, found.archive)
	if _, refused := manifest.ReasonOf(err); refused {
		return r.fetches.failed(client.ObjectKeyFromObject(found.addon), found.now, final,
			&policy.Stall{Reason: addonsv1alpha1.ReasonChartRefused, Message: fmt.Sprintf("chart %s %s: %s", content.Name, content.Version, err)}), nil
	}
	if err != nil {
		return nil, err
	}
	if unusable := refuseChart(info, content); unusable != nil {
		return r.fetches.failed(client.ObjectKeyFromObject(found.addon), found.now, final, unusable), nil
	}
	content.Archive, content.AsksForAPIs = found.archive, info.AsksForAPIs
	return nil, nil
}

// refuseChart refuses what cannot be installed, or is not what its repository says.
func refuseChart(info render.ChartInfo, content *addoncontent.Chart) *policy.Stall {
	message := ""
	switch {
	case info.Name != content.Name:
		message = fmt.Sprintf("its Chart.yaml says that its name is %s; ask who keeps the repository", info.Name)
	case info.Type == "library":
		message = "it is a library, which cannot be installed; name a chart that uses it"
	default:
		return nil
	}
	return &policy.Stall{
		Reason:  addonsv1alpha1.ReasonChartRefused,
		Message: fmt.Sprintf("chart %s %s of %s: %s", content.Name, content.Version, content.Repository, message),
	}
}

// storedChart is the chart in the add-on's current revision, if it is the one that is pinned.
func (r *Reconciler) storedChart(ctx context.Context, found *resolution) (*addoncontent.Chart, error) {
	content, err := addoncontent.Read(ctx, r.APIReader, types.NamespacedName{Namespace: found.addon.Namespace, Name: found.addon.Status.Revision})
	if errors.Is(err, revision.ErrNotFound) || errors.Is(err, revision.ErrTorn) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if content.Chart == nil || content.Chart.Digest != found.chart.Digest {
		return nil, nil
	}
	return content.Chart, nil
}
