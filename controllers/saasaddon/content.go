package saasaddon

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/render"
)

// Content implements policy.Kind.
func (r *Reconciler) Content(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, now time.Time) (policy.Content[*addonsv1alpha1.SaaSAddon], error) {
	found, err := r.resolve(ctx, addon, now)
	if err != nil {
		return policy.Content[*addonsv1alpha1.SaaSAddon]{}, err
	}
	content := policy.Content[*addonsv1alpha1.SaaSAddon]{Stall: found.stall}
	if found.chart != nil {
		content.Version = found.chart.Digest
		content.SetStatus = func(addon *addonsv1alpha1.SaaSAddon) { addon.Status.Chart = found.chart }
	}
	if found.chart != nil || addon.Spec.Source.Chart == nil {
		content.Read = func(ctx context.Context) ([]byte, *policy.Stall, error) {
			decoded, unusable, err := r.readContent(ctx, found)
			if unusable != nil || err != nil {
				return nil, unusable, err
			}
			encoded, err := revision.Encode(decoded)
			return encoded, nil, err
		}
	}
	return content, nil
}

// readContent reads every referenced ConfigMap from the API server: a cache of them all would
// be as large as customers like.
func (r *Reconciler) readContent(ctx context.Context, found *resolution) (addoncontent.Content, *policy.Stall, error) {
	addon := found.addon
	content := addoncontent.Content{Namespace: addon.Spec.Namespace, CreateNamespace: addon.Spec.CreateNamespace}
	if addon.Spec.Source.Chart == nil && addon.Spec.Values != nil {
		// The API server cannot tell: values may be anything, and so are no part of its rules.
		return content, &policy.Stall{Reason: metav1alpha1.ReasonInvalidSpec, Message: "spec.values belongs to spec.source.chart; manifests are templates of their own"}, nil
	}
	if found.chart != nil {
		var unusable *policy.Stall
		var err error
		content.Chart, unusable, err = r.chartContent(ctx, found)
		return content, unusable, err
	}
	if manifests := addon.Spec.Source.Manifests; manifests != nil && manifests.Inline != "" {
		content.Sources = append(content.Sources, render.Source{Name: addoncontent.Inline, Text: manifests.Inline})
	}
	for _, name := range configMapNames(addon) {
		config, unusable, err := reference.ConfigMap(ctx, r.APIReader, keyOf(addon, name), "spec.source.manifests.configMapRefs")
		if unusable != nil || err != nil {
			return content, unusable, err
		}
		sources, unusable := sourcesOf(config)
		if unusable != nil {
			return content, unusable, nil
		}
		content.Sources = append(content.Sources, sources...)
	}
	return content, nil, nil
}

// keyOf an object that an add-on names, which is in its namespace.
func keyOf(addon *addonsv1alpha1.SaaSAddon, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: addon.Namespace, Name: name}
}

// sourcesOf are the keys of a ConfigMap in alphabetical order.
func sourcesOf(config *corev1.ConfigMap) ([]render.Source, *policy.Stall) {
	if binary := slices.Sorted(maps.Keys(config.BinaryData)); len(binary) > 0 {
		return nil, &policy.Stall{
			Reason:  metav1alpha1.ReasonInvalidSpec,
			Message: fmt.Sprintf("ConfigMap %s/%s holds binary data under %s: manifests are text, move it elsewhere", config.Namespace, config.Name, binary[0]),
		}
	}
	var sources []render.Source
	for key, text := range config.Data {
		sources = append(sources, render.Source{Name: "configmap/" + config.Name + "/" + key, Text: text})
	}
	slices.SortFunc(sources, func(a, b render.Source) int { return strings.Compare(a.Name, b.Name) })
	return sources, nil
}

// configMapNames are the ConfigMaps that an add-on references, in alphabetical order.
func configMapNames(addon *addonsv1alpha1.SaaSAddon) []string {
	if addon.Spec.Source.Manifests == nil {
		return nil
	}
	var names []string
	for _, reference := range addon.Spec.Source.Manifests.ConfigMapRefs {
		names = append(names, reference.Name)
	}
	slices.Sort(names)
	return names
}

// References implements policy.Kind. They are in a stable order.
func (r *Reconciler) References(addon *addonsv1alpha1.SaaSAddon) []policy.Reference {
	var found []policy.Reference
	for _, name := range configMapNames(addon) {
		found = append(found, policy.Reference{Kind: "ConfigMap", Name: name})
	}
	for _, from := range addon.Spec.ValuesFrom {
		found = append(found, policy.Reference{Kind: from.Kind, Name: from.Name})
	}
	if chart := addon.Spec.Source.Chart; chart != nil {
		for _, secret := range []*metav1alpha1.LocalReference{chart.SecretRef, chart.CARef} {
			if secret != nil {
				found = append(found, policy.Reference{Kind: "Secret", Name: secret.Name, Access: true})
			}
		}
	}
	return found
}
