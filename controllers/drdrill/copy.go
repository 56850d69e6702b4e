package drdrill

import (
	"context"
	"errors"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// maxObjectName is how long the last part of a document's key may be, without its suffix: its signature has a longer one.
const maxObjectName = 240

// copyFor is where the evidence of a drill goes in a bucket; nil if the policy has none for it. The keys of a cluster's
// documents sort by the start of the drills.
func copyFor(drill *backupv1alpha1.DRDrill, storage *backupv1alpha1.EvidenceStorage) *backupv1alpha1.EvidenceCopy {
	if storage == nil {
		return nil
	}
	cluster := drill.Spec.ClusterRef
	name := objects.ShortName(maxObjectName, drill.Status.StartedAt.UTC().Format("20060102T150405Z")+"-"+drill.Name, string(drill.UID))
	return &backupv1alpha1.EvidenceCopy{
		Bucket: storage.Bucket,
		Key:    path.Join(storage.Prefix, drill.Namespace, drill.Spec.PolicyName, cluster.Namespace, cluster.Name, name+".json"),
	}
}

func isToBeCopied(drill *backupv1alpha1.DRDrill) bool {
	written := drill.Status.Evidence
	return written != nil && written.Copy != nil
}

// copyEvidence is the task that writes the evidence of a drill into the bucket for it. Who writes it twice writes the same.
func (r *Reconciler) copyEvidence(ctx context.Context, v view) (func(*backupv1alpha1.DRDrillStatus), error) {
	written := v.Run.Status.Evidence
	config := &corev1.ConfigMap{}
	if err := r.Room.APIReader.Get(ctx, types.NamespacedName{Namespace: v.Run.Namespace, Name: written.ConfigMapName}, config); err != nil {
		return nil, fmt.Errorf("read the evidence: %w", err)
	}
	bucket, err := r.evidenceBucket(ctx, v.Run)
	if err != nil {
		return nil, err
	}
	for suffix, content := range map[string]string{"": config.Data[evidenceKey], ".sig": config.Data[signatureKey]} {
		if content == "" {
			continue
		}
		if err := bucket.Put(ctx, written.Copy.Key+suffix, []byte(content)); err != nil {
			return nil, err
		}
	}
	now := metav1.NewTime(r.Room.Clock.Now()).Rfc3339Copy()
	return func(status *backupv1alpha1.DRDrillStatus) { status.Evidence.Copy.WrittenAt = &now }, nil
}

// evidenceBucket is what the policy of a drill says of the bucket now: what was wrong may have been mended.
func (r *Reconciler) evidenceBucket(ctx context.Context, drill *backupv1alpha1.DRDrill) (*backupstore.Store, error) {
	source, err := r.sourceOf(ctx, drill)
	if err != nil {
		return nil, err
	}
	storage := source.enrollment.Spec.Evidence
	if storage == nil {
		return nil, refuse("BackupPolicy %s/%s has no spec.evidence any more", drill.Namespace, drill.Spec.PolicyName)
	}
	location := backupstore.Location{
		Bucket: drill.Status.Evidence.Copy.Bucket, Region: source.content.Storage.Region, Endpoint: source.content.Storage.Endpoint, CA: source.content.Storage.CA,
	}
	if storage.Region != "" {
		location.Region, location.Endpoint = storage.Region, storage.Endpoint
		if location.CA, err = r.evidenceCA(ctx, drill.Namespace, storage.CARef); err != nil {
			return nil, err
		}
	}
	access, _, err := backupstore.ReadCredentials(ctx, r.Room.APIReader, types.NamespacedName{Namespace: drill.Namespace, Name: storage.SecretName})
	var invalid *backupstore.InvalidCredentialsError
	if errors.As(err, &invalid) {
		return nil, fmt.Errorf("spec.evidence.secretName of BackupPolicy %s/%s: %w", drill.Namespace, drill.Spec.PolicyName, err)
	}
	if err != nil {
		return nil, err
	}
	return backupstore.Open(location, access, r.Storage)
}

// evidenceCA is what the endpoint is trusted by; empty for what the system trusts.
func (r *Reconciler) evidenceCA(ctx context.Context, namespace string, ref *backupv1alpha1.ConfigMapKey) (string, error) {
	if ref == nil {
		return "", nil
	}
	config := &corev1.ConfigMap{}
	if err := r.Room.APIReader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, config); err != nil {
		return "", fmt.Errorf("read what spec.evidence.caRef names: %w", err)
	}
	ca := config.Data[ref.Key]
	if ca == "" {
		return "", fmt.Errorf("ConfigMap %s/%s, which spec.evidence.caRef names, lacks the key %s", namespace, ref.Name, ref.Key)
	}
	return ca, nil
}
