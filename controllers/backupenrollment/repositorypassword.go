package backupenrollment

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

const (
	// publishedPassword is the one that Velero sets where there is none (its package pkg/repository/keys).
	publishedPassword = "static-passw0rd"
	// minPassword and maxPassword are how long a password is, in bytes. The status tells a hash of the Secret in the cluster, so
	// a short password could be guessed.
	minPassword, maxPassword = 16, 1024
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
	_, kept := o.Inventory[objects.RefOf(passwordObject(o.Status.Velero.Namespace, repositoryPassword{})).Key()]
	return seenPassword{version: version, notKept: !kept}, err
}

// repositoryPassword is what Velero is to encrypt its repositories with.
type repositoryPassword struct {
	value string
	// source names the Secret and the key that it is from, for people.
	source string
	// version of that Secret.
	version string
}

// readPassword reads the password of an enrollment's repositories. A Verdict as the error says what a person has to mend.
func readPassword(ctx context.Context, live client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (repositoryPassword, error) {
	key, _ := passwordKey(enrollment)
	secret := &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return repositoryPassword{}, passwordInvalid("there is no Secret %s with the repository password for this cluster: create it with the key %s", key, enrollment.Spec.RepositoryPassword.Key)
	}
	if err != nil {
		return repositoryPassword{}, fmt.Errorf("read Secret %s: %w", key, err)
	}
	read := repositoryPassword{
		// Velero cuts spaces off, too.
		value:   strings.TrimSpace(string(secret.Data[enrollment.Spec.RepositoryPassword.Key])),
		source:  fmt.Sprintf("key %s of Secret %s", enrollment.Spec.RepositoryPassword.Key, key),
		version: secret.ResourceVersion,
	}
	return read, read.check()
}

// check returns a Verdict for a password that does not protect.
func (p repositoryPassword) check() error {
	switch {
	case p.value == "":
		return passwordInvalid("%s holds no password for Velero's repositories: put one of at least %d characters there", p.source, minPassword)
	case p.value == publishedPassword:
		return passwordInvalid("%s holds the password that Velero publishes: put another one of at least %d characters there", p.source, minPassword)
	case len(p.value) < minPassword || len(p.value) > maxPassword:
		return passwordInvalid("%s holds a password that is shorter than %d characters or longer than %d: put another one there", p.source, minPassword, maxPassword)
	case strings.ContainsFunc(p.value, unicode.IsControl):
		return passwordInvalid("%s holds a password with a line break or another control character inside: put another one there", p.source)
	}
	return nil
}

func passwordInvalid(format string, args ...any) *target.Verdict {
	return &target.Verdict{Reason: backupv1alpha1.ReasonRepositoryPasswordInvalid, Stalled: true, Message: fmt.Sprintf(format, args...)}
}
