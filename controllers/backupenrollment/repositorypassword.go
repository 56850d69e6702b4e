package backupenrollment

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// passwordKey is the Secret with the password of an enrollment's repositories; false if its policy names none.
func passwordKey(enrollment *backupv1alpha1.BackupEnrollment) (types.NamespacedName, bool) {
	ref := enrollment.Spec.RepositoryPassword
	if ref == nil {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: enrollment.Namespace, Name: ref.Name}, true
}

// passwordVersion is the version of the Secret with the password by the cache; empty if there is none.
func passwordVersion(ctx context.Context, cached client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (string, error) {
	key, _ := passwordKey(enrollment)
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := cached.Get(ctx, key, secret)
	return secret.ResourceVersion, client.IgnoreNotFound(err)
}

// seenPassword is what is seen without reading it.
type seenPassword struct {
	// version of the Secret in the management cluster; empty if there is none.
	version string
	// notKept: the enrollment does not keep the Secret in the cluster itself, but shares it. Who keeps it may change the
	// password, or end.
	notKept bool
}

// isDue is whether the Secret in the cluster is to be looked at.
func (s seenPassword) isDue(own *backupv1alpha1.VeleroObjects) bool {
	return s.notKept || s.version != own.RepositoryPasswordVersion
}

// observePassword looks at the password of an enrollment's repositories, if its policy names one.
func (r *Reconciler) observePassword(ctx context.Context, o *observation) (seenPassword, error) {
	if _, named := passwordKey(o.Target); !named || o.Status.Velero == nil {
		return seenPassword{}, nil
	}
	version, err := passwordVersion(ctx, r.Room.Client, o.Target)
	_, kept := o.Inventory[repositorypassword.RefOf(o.Status.Velero.Namespace).Key()]
	return seenPassword{version: version, notKept: !kept}, err
}

// readPassword reads the password of an enrollment's repositories. A Verdict as the error says what a person has to mend.
func readPassword(ctx context.Context, live client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (repositorypassword.Password, error) {
	key, _ := passwordKey(enrollment)
	read, err := repositorypassword.Read(ctx, live, key, enrollment.Spec.RepositoryPassword.Key)
	var invalid *repositorypassword.InvalidError
	if errors.As(err, &invalid) {
		return read, &target.Verdict{Reason: backupv1alpha1.ReasonRepositoryPasswordInvalid, Stalled: true, Message: invalid.Error()}
	}
	return read, err
}
