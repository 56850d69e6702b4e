package storerestore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cached lists ConfigMaps of these versions, named after them.
type cached struct {
	cache.Cache
	versions []string
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	items := &list.(*corev1.ConfigMapList).Items
	*items = nil
	for _, version := range c.versions {
		*items = append(*items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: version, UID: types.UID(version), ResourceVersion: version}})
	}
	return nil
}

// live answers the probes with these versions; "" is no answer, "none" that there is no such object.
type live struct {
	client.Reader
	*testing.T
	asked   string
	answers []string
}

func (l *live) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if key.Name != l.asked {
		l.Errorf("the probe asks for %s, not for %s, which changed last", key.Name, l.asked)
	}
	answer := l.answers[0]
	l.answers = l.answers[1:]
	switch answer {
	case "":
		return errors.New("no answer")
	case "none":
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	object.SetResourceVersion(answer)
	return nil
}

func TestAStoreThatIsOlderThanTheCacheWasRestored(t *testing.T) {
	tests := map[string]struct {
		cached, newest string
		answers        []string
		// restored tells whether the last of the answers shows it.
		restored bool
	}{
		"the same":              {"8 10 9", "10", []string{"10", "10"}, false},
		"the cache is late":     {"8 10 9", "10", []string{"11", "12"}, false},
		"an older version":      {"8 10 9", "10", []string{"10", "9"}, true},
		"after an outage":       {"100", "100", []string{"", "", "99"}, true},
		"gone for good":         {"100", "100", []string{"none", "none", "none"}, true},
		"gone, then back":       {"100", "100", []string{"none", "none", "100", "none", "none"}, false},
		"versions of all sorts": {"b", "b", []string{"a"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answers := &live{T: t, asked: test.newest, answers: test.answers}
			detector := &Detector{
				Cache: cached{versions: strings.Fields(test.cached)}, Live: answers,
				Kinds: configMaps(), Log: logr.Discard(),
			}
			for len(answers.answers) > 0 {
				last := len(answers.answers) == 1
				err := detector.probe(t.Context())
				if (err != nil) != (last && test.restored) {
					t.Fatalf("with %d probes to go: %v", len(answers.answers), err)
				}
			}
		})
	}
}

func configMaps() []Kind {
	return []Kind{{Object: &corev1.ConfigMap{}, List: &corev1.ConfigMapList{}}}
}

func TestACacheThatGoesBackShowsARestore(t *testing.T) {
	tests := map[string]struct {
		before, after string
		restored      bool
	}{
		"forwards": {"99", "100", false}, "again": {"100", "100", false}, "backwards": {"100", "99", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			informers := &informertest.FakeInformers{}
			detector := &Detector{Cache: informers, Kinds: configMaps(), Log: logr.Discard()}
			found := make(chan error, 1)
			if err := detector.watch(t.Context(), found); err != nil {
				t.Fatal(err)
			}
			informer, err := informers.FakeInformerFor(t.Context(), &corev1.ConfigMap{})
			if err != nil {
				t.Fatal(err)
			}
			informer.Update(versioned(test.before), versioned(test.after))
			if got := len(found) == 1; got != test.restored {
				t.Errorf("from %s to %s a restore is found: %v", test.before, test.after, got)
			}
		})
	}
}

func versioned(version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "one", ResourceVersion: version}}
}

func TestWithoutObjectsNothingCanBeTold(t *testing.T) {
	detector := &Detector{Cache: cached{}, Live: &live{T: t}, Kinds: configMaps(), Log: logr.Discard()}
	if err := detector.probe(t.Context()); err != nil {
		t.Error(err)
	}
}
