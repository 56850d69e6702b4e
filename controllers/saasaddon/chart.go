package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/charts"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// Inspector looks into a chart's archive.
type Inspector interface {
	InspectChart(ctx context.Context, tenant string, archive []byte) (render.ChartInfo, error)
}

// defaultHookTimeout is what an add-on gets whose source was written before the API server knew defaults.
const defaultHookTimeout = 5 * time.Minute

// resolution is what an add-on's source is resolved to.
type resolution struct {
	addon *addonsv1alpha1.SaaSAddon
	now   time.Time
	// chart that the content is made of, if it is one; nil while that is not known.
	chart *addonsv1alpha1.ResolvedChart
	// archive of the chart, if it was fetched just now.
	archive []byte
	// stall in the way of a newer chart, or of any; nil for none.
	stall *policy.Stall
}

// resolve finds out which chart the add-on is made of. A range is resolved again only if the source
// changed or a person asked for it.
func (r *Reconciler) resolve(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, now time.Time) (*resolution, error) {
	found := &resolution{addon: addon, now: now}
	spec := addon.Spec.Source.Chart
	if spec == nil {
		return found, nil
	}
	pinned := addon.Status.Chart
	if isPinned(addon) {
		found.chart = pinned
		return found, nil
	}
	fetched, unusable, err := r.fetchChart(ctx, found, charts.Source{
		Repository: spec.Repository, Name: spec.Name, Version: spec.Version, Digest: spec.Digest,
	})
	if err != nil {
		return nil, err
	}
	if unusable == nil && pinned != nil && spec.Digest == "" && replaced(pinned, spec, fetched) {
		unusable = r.fetches.failed(client.ObjectKeyFromObject(addon), now, final, &policy.Stall{
			Reason: string(charts.DigestMismatch),
			Message: fmt.Sprintf("chart %s %s was replaced in %s: its digest was %s and is %s now; set spec.source.chart.digest to the new one to accept it, or choose another version",
				spec.Name, fetched.Version, spec.Repository, pinned.Digest, fetched.Digest),
		})
	}
	if unusable != nil {
		found.goOnWithout(unusable)
		return found, nil
	}
	found.chart = &addonsv1alpha1.ResolvedChart{
		Repository: spec.Repository, Name: spec.Name, Requested: spec.Version,
		Version: fetched.Version, Digest: fetched.Digest, HandledRequest: metav1alpha1.RequestedAt(addon),
	}
	found.archive = fetched.Archive
	return found, nil
}

// goOnWithout tells of a chart that could not be resolved. If that was only to see whether there is a
// newer one, what is stored goes on.
func (f *resolution) goOnWithout(stall *policy.Stall) {
	copied := *stall
	if isSameSource(f.addon) {
		copied.Usable, f.chart = true, f.addon.Status.Chart
	}
	f.stall = &copied
}

// isPinned is whether the status tells what the source is resolved to.
func isPinned(addon *addonsv1alpha1.SaaSAddon) bool {
	return isSameSource(addon) && addon.Status.Chart.HandledRequest == metav1alpha1.RequestedAt(addon)
}

// isSameSource is whether the status speaks of the source as it is now.
func isSameSource(addon *addonsv1alpha1.SaaSAddon) bool {
	spec, pinned := addon.Spec.Source.Chart, addon.Status.Chart
	return pinned != nil && pinned.Repository == spec.Repository && pinned.Name == spec.Name && pinned.Requested == spec.Version &&
		(spec.Digest == "" || spec.Digest == pinned.Digest)
}

// replaced is whether a version that was pinned has another content now.
func replaced(pinned *addonsv1alpha1.ResolvedChart, spec *addonsv1alpha1.ChartSource, fetched *charts.Chart) bool {
	return pinned.Repository == spec.Repository && pinned.Name == spec.Name &&
		pinned.Version == fetched.Version && pinned.Digest != fetched.Digest
}

// fetchChart asks for a chart. It waits for nothing: what is not there yet is a transient stall.
func (r *Reconciler) fetchChart(ctx context.Context, found *resolution, source charts.Source) (*charts.Chart, *policy.Stall, error) {
	key := client.ObjectKeyFromObject(found.addon)
	access, unusable, err := r.addAccess(ctx, found.addon, &source)
	if unusable != nil || err != nil {
		return nil, unusable, err
	}
	asked := fmt.Sprint(found.addon.Generation, "/", metav1alpha1.RequestedAt(found.addon), "/", access)
	attempt, failed := r.fetches.attempt(key, asked, found.now)
	if failed != nil {
		return nil, failed, nil
	}
	result, ready := r.Charts.Request(key, source, attempt)
	if !ready {
		return nil, &policy.Stall{
			Reason: addonsv1alpha1.ReasonFetching, Transient: true,
			Message: fmt.Sprintf("chart %s %s is being fetched from %s", source.Name, source.Version, source.Repository),
		}, nil
	}
	r.Charts.Forget(key)
	if result.Err != nil {
		return nil, r.fetches.failed(key, found.now, isFinal(result.Err), stallOf(result.Err)), nil
	}
	return result.Chart, nil, nil
}

// finality tells whether only another source can help.
type finality bool

const final finality = true

func isFinal(err error) finality {
	var failure *charts.Error
	return finality(errors.As(err, &failure) && failure.Final())
}

func stallOf(err error) *policy.Stall {
	reason, ok := charts.ReasonOf(err)
	if !ok {
		return &policy.Stall{Reason: metav1alpha1.ReasonFailed, Message: err.Error(), Transient: true}
	}
	return &policy.Stall{Reason: string(reason), Message: err.Error()}
}

// addAccess reads the credentials and the CA that the source names, and returns the versions in which
// they were read.
func (r *Reconciler) addAccess(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, source *charts.Source) (string, *policy.Stall, error) {
	spec := addon.Spec.Source.Chart
	versions := ""
	if spec.SecretRef != nil {
		secret, unusable, err := reference.Secret(ctx, r.APIReader, keyOf(addon, spec.SecretRef.Name), "spec.source.chart.secretRef")
		if unusable != nil || err != nil {
			return "", unusable, err
		}
		versions += secret.ResourceVersion
		if source.Credentials, err = charts.CredentialsFromSecret(secret, spec.Repository); err != nil {
			return "", stallOf(err), nil
		}
	}
	if spec.CARef != nil {
		secret, unusable, err := reference.Secret(ctx, r.APIReader, keyOf(addon, spec.CARef.Name), "spec.source.chart.caRef")
		if unusable != nil || err != nil {
			return "", unusable, err
		}
		versions += "/" + secret.ResourceVersion
		if source.CA, err = charts.CAFromSecret(secret); err != nil {
			return "", stallOf(err), nil
		}
	}
	return versions, nil, nil
}
