package repositorypassword

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// SecretName and SecretKey are where Velero reads the password in its namespace (its package pkg/repository/keys, 1.18).
const (
	SecretName = "velero-repo-credentials"
	SecretKey  = "repository-password"
)

var (
	secretKind     = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	repositoryKind = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupRepository"}
)

// Held is what Velero has in a cluster.
type Held struct {
	// UID of the Secret; empty if there is none.
	UID types.UID
	// Password that it holds, which may be empty.
	Password string
	// Owner is whom it says it belongs to; empty for nobody.
	Owner string
	// Repository is a repository that is encrypted with the password, as in "velero/shop-nightly-kopia"; empty if there is
	// none.
	Repository string
}

// Exists is whether there is a Secret.
func (h Held) Exists() bool { return h.UID != "" }

// Is whether Velero has that password.
func (h Held) Is(wanted Password) bool { return h.Exists() && h.Password == wanted.Value }

// RefOf the Secret in Velero's namespace.
func RefOf(namespace string) objects.Ref {
	return objects.Ref{GroupVersionKind: secretKind, Namespace: namespace, Name: SecretName}
}

// ReadHeld looks at what Velero has in its namespace of a cluster. Its errors tell nothing of the content.
func ReadHeld(ctx context.Context, cluster *fleet.Cluster, namespace, installation string) (Held, error) {
	ref := RefOf(namespace)
	secrets, err := cluster.Secrets(namespace)
	if err != nil {
		return Held{}, err
	}
	var held Held
	secret, err := secrets.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		held = Held{UID: secret.UID, Password: strings.TrimSpace(string(secret.Data[SecretKey])), Owner: objects.ClaimOf(secret, installation).Owner}
	case !apierrors.IsNotFound(err):
		return Held{}, fmt.Errorf("read %s: %w", ref, err)
	}
	held.Repository, err = anyRepository(ctx, cluster, namespace)
	return held, err
}

// anyRepository is the name of one of Velero's repositories; empty if there is none.
func anyRepository(ctx context.Context, cluster *fleet.Cluster, namespace string) (string, error) {
	list, err := cluster.List(ctx, repositoryKind, namespace, "")
	if err != nil && !meta.IsNoMatchError(err) {
		return "", err
	}
	if len(list) == 0 {
		return "", nil
	}
	return namespace + "/" + list[0].Name, nil
}
