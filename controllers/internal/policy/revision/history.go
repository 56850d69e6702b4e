package revision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// HistoryLimit is how many revisions are kept that no target uses, beside the current one.
const HistoryLimit = 5

// Stored is a revision as its Secrets' metadata tells of it.
type Stored struct {
	Name  string
	Label string
	// Complete: the first Secret, which is written last, is there.
	Complete bool
	// Secrets are the names of the Secrets that are there, the first one first.
	Secrets []string
	// Created is when its latest Secret was.
	Created time.Time
}

// List returns the stored revisions of a policy, torn ones too, by name. A reader that holds
// metadata only will do. Options are for its indexes.
func List(ctx context.Context, reader client.Reader, owner Owner, opts ...client.ListOption) ([]Stored, error) {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	opts = append(opts, client.InNamespace(owner.Object.GetNamespace()), client.MatchingLabels(owner.labels()), client.UnsafeDisableDeepCopy)
	err := reader.List(ctx, secrets, opts...)
	if err != nil {
		return nil, fmt.Errorf("list revisions of %s: %w", owner.Object.GetName(), err)
	}
	return group(owner.Object.GetName(), secrets.Items), nil
}

func group(policy string, secrets []metav1.PartialObjectMetadata) []Stored {
	byName := map[string]*Stored{}
	for _, secret := range secrets {
		label := secret.Labels[metav1alpha1.LabelRevision]
		if len(label) < nameDigits {
			continue
		}
		name := nameOf(policy, label)
		revision, known := byName[name]
		if !known {
			revision = &Stored{Name: name, Label: label}
			byName[name] = revision
		}
		revision.Secrets = append(revision.Secrets, secret.Name)
		revision.Complete = revision.Complete || secret.Name == name
		if created := secret.CreationTimestamp.Time; created.After(revision.Created) {
			revision.Created = created
		}
	}
	stored := make([]Stored, 0, len(byName))
	for _, revision := range byName {
		slices.Sort(revision.Secrets)
		stored = append(stored, *revision)
	}
	slices.SortFunc(stored, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	return stored
}

// Prune returns the revisions to remove, the oldest first: those that are neither current nor
// referenced by a target, except the latest HistoryLimit of them.
func Prune(stored []Stored, current string, referenced sets.Set[string]) []Stored {
	unused := slices.DeleteFunc(slices.Clone(stored), func(revision Stored) bool {
		return revision.Name == current || referenced.Has(revision.Name)
	})
	slices.SortFunc(unused, func(a, b Stored) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return unused[:max(len(unused)-HistoryLimit, 0)]
}

// Remove deletes a revision's Secrets, the first one first, so that what is left after an
// interruption does not look complete.
func Remove(ctx context.Context, writer client.Writer, namespace string, revision Stored) error {
	for _, name := range revision.Secrets {
		secret := Metadata()
		secret.Namespace, secret.Name = namespace, name
		if err := client.IgnoreNotFound(writer.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("remove revision %s: %w", revision.Name, err)
		}
	}
	return nil
}
