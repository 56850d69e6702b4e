package saasaddon

import (
	"context"
	"fmt"
	"strings"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// readValues reads the values in the order in which they are merged. Values that set nothing are left out, so that they
// make the revision that none make.
func (r *Reconciler) readValues(ctx context.Context, addon *addonsv1alpha1.SaaSAddon) ([]render.ValuesLayer, *policy.Stall, error) {
	var values []render.ValuesLayer
	if addon.Spec.Values != nil && !isEmptyValues(string(addon.Spec.Values.Raw)) {
		values = append(values, render.ValuesLayer{Name: addoncontent.Values, Text: string(addon.Spec.Values.Raw)})
	}
	for i, from := range addon.Spec.ValuesFrom {
		data, unusable, err := r.readValuesFrom(ctx, addon, fmt.Sprintf("spec.valuesFrom[%d]", i), from)
		if unusable != nil || err != nil {
			return nil, unusable, err
		}
		key := valuesKey(from)
		text, ok := data[key]
		if !ok {
			return nil, &policy.Stall{
				Reason:  metav1alpha1.ReasonReferenceNotFound,
				Message: fmt.Sprintf("%s %s/%s has no key %s, which spec.valuesFrom[%d] names: add it, or name another", from.Kind, addon.Namespace, from.Name, key, i),
			}, nil
		}
		if !isEmptyValues(text) {
			values = append(values, render.ValuesLayer{Name: strings.ToLower(from.Kind) + "/" + from.Name + "/" + key, Text: text})
		}
	}
	return values, nil, nil
}

// isEmptyValues is whether a text is an empty mapping, or nothing at all. Only a render worker parses YAML, so an empty
// mapping that is written in another way, for instance with a comment, still counts as values.
func isEmptyValues(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text == "{}"
}

func valuesKey(from addonsv1alpha1.ValuesReference) string {
	if from.Key == "" {
		return "values.yaml"
	}
	return from.Key
}

func (r *Reconciler) readValuesFrom(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, field string, from addonsv1alpha1.ValuesReference) (map[string]string, *policy.Stall, error) {
	if from.Kind == "Secret" {
		secret, unusable, err := reference.Secret(ctx, r.APIReader, keyOf(addon, from.Name), field)
		if unusable != nil || err != nil {
			return nil, unusable, err
		}
		data := make(map[string]string, len(secret.Data))
		for key, value := range secret.Data {
			data[key] = string(value)
		}
		return data, nil, nil
	}
	config, unusable, err := reference.ConfigMap(ctx, r.APIReader, keyOf(addon, from.Name), field)
	if unusable != nil || err != nil {
		return nil, unusable, err
	}
	return config.Data, nil, nil
}
