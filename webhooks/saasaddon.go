package webhooks

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/saasaddon/preview"
)

var addonKind = addonsv1alpha1.GroupVersion.WithKind("SaaSAddon")

// sameContent is whether two add-ons consist of the same.
func sameContent(a, b *addonsv1alpha1.SaaSAddon) bool {
	return equality.Semantic.DeepEqual(a.Spec.Source, b.Spec.Source) && equality.Semantic.DeepEqual(a.Spec.Values, b.Spec.Values)
}

// previewAddon refuses content that the controller would give to no cluster.
func previewAddon(previewer *preview.Previewer) func(context.Context, *addonsv1alpha1.SaaSAddon) (admission.Warnings, error) {
	return func(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) (admission.Warnings, error) {
		problem, warning := previewer.Preview(ctx, addon)
		switch {
		case problem != nil:
			return nil, invalid(addonKind, addon.Name, problem.Field, problem.Message)
		case warning != "":
			return admission.Warnings{warning}, nil
		}
		return nil, nil
	}
}
