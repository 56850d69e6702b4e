package drdrill

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
)

// source is where the backups of a drill's cluster are.
type source struct {
	enrollment  *backupv1alpha1.BackupEnrollment
	content     backupcontent.Content
	credentials backupstore.Credentials
}

// enrollmentOf is the enrollment of a drill's policy in the cluster that was backed up; nil if there is none.
func enrollmentOf(ctx context.Context, reader client.Reader, drill *backupv1alpha1.DRDrill) (*backupv1alpha1.BackupEnrollment, error) {
	list := &backupv1alpha1.BackupEnrollmentList{}
	err := reader.List(ctx, list, client.InNamespace(drill.Namespace), client.MatchingLabels{
		metav1alpha1.LabelPolicy:  drill.Spec.PolicyName,
		metav1alpha1.LabelCluster: drill.Spec.ClusterRef.Name, metav1alpha1.LabelClusterNamespace: drill.Spec.ClusterRef.Namespace,
	})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// sourceOf reads where the backups of a drill's cluster are, without the credentials. A Refusal or a mistake says what a person has to mend.
func (r *Reconciler) sourceOf(ctx context.Context, drill *backupv1alpha1.DRDrill) (source, error) {
	var s source
	var err error
	if s.enrollment, err = enrollmentOf(ctx, r.Room.Client, drill); err != nil {
		return s, err
	}
	switch {
	case s.enrollment == nil:
		return s, mistaken("BackupPolicy %s/%s does not back up TenantCluster %s: correct spec.policyName or spec.clusterRef of another drill",
			drill.Namespace, drill.Spec.PolicyName, run.Key(drill.Spec.ClusterRef))
	case s.enrollment.Status.Velero == nil:
		return s, mistaken("BackupEnrollment %s/%s has no place for backups yet: see its status", s.enrollment.Namespace, s.enrollment.Name)
	}
	revision := types.NamespacedName{Namespace: drill.Namespace, Name: s.enrollment.Spec.Revision}
	if recorded := drill.Status.Source; recorded != nil {
		revision.Name = recorded.Revision
	}
	s.content, err = backupcontent.Read(ctx, r.Room.APIReader, revision)
	return s, err
}

// readCredentials that a drill uses. A Refusal says what a person has to mend.
func (r *Reconciler) readCredentials(ctx context.Context, drill *backupv1alpha1.DRDrill, s source) (backupstore.Credentials, error) {
	secret := types.NamespacedName{
		Namespace: drill.Namespace, Name: cmp.Or(s.enrollment.Spec.DrillCredentialsSecret, s.enrollment.Spec.CredentialsSecret),
	}
	credentials, _, err := backupstore.ReadCredentials(ctx, r.Room.APIReader, secret)
	var invalid *backupstore.InvalidCredentialsError
	if errors.As(err, &invalid) {
		return credentials, refuse("%s", invalid)
	}
	return credentials, err
}

// bucketOf a drill is where the backups of its cluster are, opened at their prefix.
func (r *Reconciler) bucketOf(ctx context.Context, drill *backupv1alpha1.DRDrill) (source, *backupstore.Store, error) {
	s, err := r.sourceOf(ctx, drill)
	if err != nil {
		return s, nil, err
	}
	if s.credentials, err = r.readCredentials(ctx, drill, s); err != nil {
		return s, nil, err
	}
	storage := s.content.Storage
	store, err := backupstore.Open(backupstore.Location{
		Bucket: storage.Bucket, Prefix: s.enrollment.Status.Velero.Prefix, Region: storage.Region, Endpoint: storage.Endpoint, CA: storage.CA,
	}, s.credentials, r.Storage)
	return s, store, err
}

// mistake is a drill that names what is not there. It tells nothing of the backups.
type mistake struct{ message string }

// Error implements error.
func (m *mistake) Error() string { return m.message }

func mistaken(format string, args ...any) error {
	return &mistake{message: fmt.Sprintf(format, args...)}
}

// refuse ends a task: what it says is a fault of the backup, or of what it is restored from.
func refuse(format string, args ...any) error {
	return &run.Refusal{Message: fmt.Sprintf(format, args...)}
}

// ignoreRefusal is nil for what no other try would change.
func ignoreRefusal(err error) error {
	var refusal *run.Refusal
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}
