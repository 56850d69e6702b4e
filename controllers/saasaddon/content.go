package saasaddon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
)

// observeContent reads the add-on's content, unless it is known and stored already.
func (r *Reconciler) observeContent(ctx context.Context, seen *observed) error {
	key := client.ObjectKeyFromObject(seen.addon)
	inputs, err := r.contentInputs(ctx, seen)
	if err != nil {
		return err
	}
	if known := r.contents.recall(key, inputs); known != nil && known.StoredIn(seen.stored) {
		seen.snapshot = known
		return nil
	}
	content, unusable, err := r.readContent(ctx, seen)
	if err != nil {
		return err
	}
	if unusable == nil {
		seen.snapshot, err = revision.EncodeSnapshot(seen.addon.Name, content)
		if tooLarge := (*revision.TooLargeError)(nil); errors.As(err, &tooLarge) {
			unusable, err = &problem{reason: metav1alpha1.ReasonInvalidSpec, message: tooLarge.Error()}, nil
		}
	}
	if err != nil {
		return err
	}
	if seen.snapshot != nil {
		r.contents.remember(key, inputs, seen.snapshot)
	}
	seen.refuse(unusable)
	return nil
}

// contentInputs changes whenever the content may have changed. It costs no request.
func (r *Reconciler) contentInputs(ctx context.Context, seen *observed) (string, error) {
	addon := seen.addon
	inputs := []string{string(addon.UID), fmt.Sprint(addon.Generation)}
	if seen.chart != nil {
		inputs = append(inputs, seen.chart.Digest)
	}
	for _, reference := range references(addon) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(reference.kind))
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: addon.Namespace, Name: reference.name}, found)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("look up %s %s: %w", reference.kind, reference.name, err)
		}
		inputs = append(inputs, string(found.UID), found.ResourceVersion)
	}
	return strings.Join(inputs, "/"), nil
}

// readContent reads every referenced ConfigMap from the API server: a cache of them all would
// be as large as customers like.
func (r *Reconciler) readContent(ctx context.Context, seen *observed) (addoncontent.Content, *problem, error) {
	addon := seen.addon
	content := addoncontent.Content{Namespace: addon.Spec.Namespace, CreateNamespace: addon.Spec.CreateNamespace}
	if addon.Spec.Source.Chart == nil && addon.Spec.Values != nil {
		// The API server cannot tell: values may be anything, and so are no part of its rules.
		return content, &problem{reason: metav1alpha1.ReasonInvalidSpec, message: "spec.values belongs to spec.source.chart; manifests are templates of their own"}, nil
	}
	if seen.chart != nil {
		var unusable *problem
		var err error
		content.Chart, unusable, err = r.chartContent(ctx, seen)
		return content, unusable, err
	}
	if manifests := addon.Spec.Source.Manifests; manifests != nil && manifests.Inline != "" {
		content.Sources = append(content.Sources, addoncontent.Source{Name: "inline", Text: manifests.Inline})
	}
	for _, name := range configMapNames(addon) {
		config, unusable, err := r.readConfigMap(ctx, addon, "spec.source.manifests.configMapRefs", name)
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

func (r *Reconciler) readConfigMap(ctx context.Context, addon *addonsv1alpha1.SaaSAddon, field, name string) (*corev1.ConfigMap, *problem, error) {
	config := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: addon.Namespace, Name: name}, config)
	if apierrors.IsNotFound(err) {
		return nil, notThere("ConfigMap", addon.Namespace, name, field), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
	}
	return config, nil, nil
}

// sourcesOf are the keys of a ConfigMap in alphabetical order.
func sourcesOf(config *corev1.ConfigMap) ([]addoncontent.Source, *problem) {
	if binary := slices.Sorted(maps.Keys(config.BinaryData)); len(binary) > 0 {
		return nil, &problem{
			reason:  metav1alpha1.ReasonInvalidSpec,
			message: fmt.Sprintf("ConfigMap %s/%s holds binary data under %s: manifests are text, move it elsewhere", config.Namespace, config.Name, binary[0]),
		}
	}
	var sources []addoncontent.Source
	for key, text := range config.Data {
		sources = append(sources, addoncontent.Source{Name: "configmap/" + config.Name + "/" + key, Text: text})
	}
	slices.SortFunc(sources, func(a, b addoncontent.Source) int { return strings.Compare(a.Name, b.Name) })
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

// reference is an object that an add-on's content is read from.
type reference struct{ kind, name string }

// String is the form for an index.
func (r reference) String() string { return r.kind + "/" + r.name }

// references are the objects that an add-on's content is read from, in a stable order.
func references(addon *addonsv1alpha1.SaaSAddon) []reference {
	var found []reference
	for _, name := range configMapNames(addon) {
		found = append(found, reference{"ConfigMap", name})
	}
	for _, from := range addon.Spec.ValuesFrom {
		found = append(found, reference{from.Kind, from.Name})
	}
	return found
}

// accessReferences are the Secrets that are needed to fetch an add-on's chart.
func accessReferences(addon *addonsv1alpha1.SaaSAddon) []reference {
	var found []reference
	if chart := addon.Spec.Source.Chart; chart != nil {
		for _, secret := range []*metav1alpha1.LocalReference{chart.SecretRef, chart.CARef} {
			if secret != nil {
				found = append(found, reference{"Secret", secret.Name})
			}
		}
	}
	return found
}

// contentMemory remembers which snapshot some inputs gave, so that a rollout does not read and
// hash the same content again for every target that becomes ready. It holds no content.
type contentMemory struct {
	mutex sync.Mutex
	known map[types.NamespacedName]knownContent
}

type knownContent struct {
	inputs   string
	snapshot *revision.Snapshot
}

func (m *contentMemory) recall(addon types.NamespacedName, inputs string) *revision.Snapshot {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known, ok := m.known[addon]; ok && known.inputs == inputs {
		return known.snapshot
	}
	return nil
}

func (m *contentMemory) remember(addon types.NamespacedName, inputs string, snapshot *revision.Snapshot) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]knownContent{}
	}
	m.known[addon] = knownContent{inputs: inputs, snapshot: snapshot.WithoutContent()}
}

func (m *contentMemory) forget(addon types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, addon)
}
