package revision

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// SecretType of the Secrets that hold revisions.
	SecretType corev1.SecretType = "daytwo.dev/revision"

	// LabelPolicyKind keeps the revisions of policies apart that have the same name and different kinds.
	LabelPolicyKind = "daytwo.dev/policy-kind"

	keyContent = "content.gz"
	keyChunks  = "chunks"
	keyDigest  = "sha256"
)

// Write stores the snapshot as a revision of its owner, the last Secret first. A Secret that is
// there already is taken as it is, if it is the same revision's: it cannot have changed, and its name is the
// hash of its content. The reader must not be a cache.
func Write(ctx context.Context, writer client.Writer, live client.Reader, owner Owner, snapshot *Snapshot) error {
	for chunk := len(snapshot.chunks) - 1; chunk >= 0; chunk-- {
		secret, err := snapshot.secret(owner, chunk)
		if err != nil {
			return fmt.Errorf("revision %s: %w", snapshot.Name, err)
		}
		err = writer.Create(ctx, secret)
		if apierrors.IsAlreadyExists(err) {
			err = verify(ctx, live, secret)
		}
		if err != nil {
			return fmt.Errorf("write revision %s: %w", snapshot.Name, err)
		}
	}
	return nil
}

// Owner is the policy that a revision belongs to.
type Owner struct {
	// APIVersion and Kind of the policy; an object that was read does not tell them.
	APIVersion string
	Kind       string
	Object     client.Object
}

func (o Owner) labels() map[string]string {
	return map[string]string{LabelPolicyKind: o.Kind, metav1alpha1.LabelPolicy: o.Object.GetName()}
}

func (s *Snapshot) secret(owner Owner, chunk int) (*corev1.Secret, error) {
	content, err := compress(s.chunks[chunk])
	if err != nil {
		return nil, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      chunkName(s.Name, chunk),
			Namespace: owner.Object.GetNamespace(),
			Labels:    owner.labels(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: owner.APIVersion, Kind: owner.Kind,
				Name: owner.Object.GetName(), UID: owner.Object.GetUID(),
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(false),
			}},
		},
		Type:      SecretType,
		Immutable: ptr.To(true),
		Data:      map[string][]byte{keyContent: content},
	}
	secret.Labels[metav1alpha1.LabelRevision] = s.Label
	if chunk == 0 {
		secret.Data[keyChunks] = []byte(strconv.Itoa(len(s.chunks)))
		secret.Data[keyDigest] = []byte(s.digest)
	}
	return secret, nil
}

// verify refuses a Secret of the same name that is something else.
func verify(ctx context.Context, live client.Reader, want *corev1.Secret) error {
	found := Metadata()
	if err := live.Get(ctx, client.ObjectKeyFromObject(want), found); err != nil {
		return err
	}
	for label, value := range want.Labels {
		if found.Labels[label] != value {
			return fmt.Errorf("secret %s/%s is in the way: its label %s is %q, not %q; delete it or rename the policy",
				want.Namespace, want.Name, label, found.Labels[label], value)
		}
	}
	return nil
}

// Metadata is the form in which revisions are read from the manager's cache.
func Metadata() *metav1.PartialObjectMetadata {
	return objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
}

func compress(content []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return compressed.Bytes(), nil
}
