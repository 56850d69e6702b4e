package backupenrollment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

// Keys of a Secret with credentials, which are those of an AWS credentials file.
const (
	keyID        = "aws_access_key_id"
	keySecret    = "aws_secret_access_key"
	sessionToken = "aws_session_token"
)

// credentials are what a cluster's Velero is known by to the storage.
type credentials struct {
	// file is an AWS credentials file.
	file string
	// version of the Secret that they are from.
	version string
}

// key of the Secret in the cluster, which differs with what it holds: Velero looks at the storage again when the
// BackupStorageLocation changes, and not when the Secret does.
func (c credentials) key() string {
	sum := sha256.Sum256([]byte(c.file))
	return "cloud-" + hex.EncodeToString(sum[:4])
}

func secretOf(enrollment *backupv1alpha1.BackupEnrollment) types.NamespacedName {
	return types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Spec.CredentialsSecret}
}

// credentialsVersion is the version of an enrollment's Secret by the cache; empty if there is none.
func credentialsVersion(ctx context.Context, cached client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (string, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := cached.Get(ctx, secretOf(enrollment), secret)
	return secret.ResourceVersion, client.IgnoreNotFound(err)
}

// readCredentials reads an enrollment's Secret. A Verdict as the error says what a person has to mend.
func readCredentials(ctx context.Context, live client.Reader, enrollment *backupv1alpha1.BackupEnrollment) (credentials, error) {
	key := secretOf(enrollment)
	secret := &corev1.Secret{}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return credentials{}, invalidCredentials("there is no Secret %s with the credentials for this cluster: create it with the keys %s and %s", key, keyID, keySecret)
	}
	if err != nil {
		return credentials{}, fmt.Errorf("read Secret %s: %w", key, err)
	}
	file := strings.Builder{}
	file.WriteString("[default]\n")
	for _, name := range []string{keyID, keySecret, sessionToken} {
		value := strings.TrimSpace(string(secret.Data[name]))
		switch {
		case value == "" && name == sessionToken:
			continue
		case value == "":
			return credentials{}, invalidCredentials("Secret %s lacks the key %s", key, name)
		case strings.ContainsFunc(value, func(char rune) bool { return unicode.IsControl(char) || unicode.IsSpace(char) }):
			return credentials{}, invalidCredentials("the key %s of Secret %s has a space or a line break inside", name, key)
		}
		fmt.Fprintf(&file, "%s=%s\n", name, value)
	}
	return credentials{file: file.String(), version: secret.ResourceVersion}, nil
}

func invalidCredentials(format string, args ...any) error {
	return &target.Verdict{Reason: backupv1alpha1.ReasonCredentialsInvalid, Stalled: true, Message: fmt.Sprintf(format, args...)}
}
