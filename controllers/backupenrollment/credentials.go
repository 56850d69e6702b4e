package backupenrollment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

func secretOf(enrollment *backupv1alpha1.BackupEnrollment) types.NamespacedName {
	return types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Spec.CredentialsSecret}
}

// credentialsVersion is the version of an enrollment's Secret by the cache; empty if there is none.
func credentialsVersion(ctx context.Context, cached client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (string, error) {
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := cached.Get(ctx, secretOf(enrollment), secret)
	return secret.ResourceVersion, client.IgnoreNotFound(err)
}

// readCredentials reads an enrollment's Secret. A Verdict as the error says what a person has to mend.
func readCredentials(ctx context.Context, live client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (veleroobjects.Credentials, error) {
	read, version, err := backupstore.ReadCredentials(ctx, live, secretOf(enrollment))
	var invalid *backupstore.InvalidCredentialsError
	if errors.As(err, &invalid) && enrollment.Spec.AssumeRole != nil {
		return veleroobjects.Credentials{}, &target.Verdict{Reason: metav1alpha1.ReasonWaiting, Message: "waits for temporary credentials: see the condition CredentialsRenewed"}
	}
	if errors.As(err, &invalid) {
		return veleroobjects.Credentials{}, &target.Verdict{Reason: backupv1alpha1.ReasonCredentialsInvalid, Stalled: true, Message: invalid.Error()}
	}
	return veleroobjects.Credentials{File: read.File(), Version: version}, err
}
