package backupenrollment

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

const (
	// repositorySecretName and repositorySecretKey are where Velero reads the password of all repositories of a cluster
	// (its package pkg/repository/keys).
	repositorySecretName = "velero-repo-credentials"
	repositorySecretKey  = "repository-password"
	// passwordPatience is when to look again at a password that is in the way: nothing tells when Velero's repositories go, or
	// another policy ends.
	passwordPatience = time.Minute
)

var repositoryKind = veleroVersion.WithKind("BackupRepository")

// repositorySecret is what is known of the Secret in the cluster.
type repositorySecret struct {
	// applied: it was applied as it is to be now. What it holds otherwise is somebody's change.
	applied bool
	// exists: it is there, and holds password, which may be empty.
	exists   bool
	password string
	// shared: an enrollment keeps it that takes the password from the same Secret.
	shared bool
	// owner is whom it belongs to; empty for nobody else.
	owner string
	// repository is the name of a repository of Velero's, which is encrypted with what the Secret holds; empty if there is
	// none.
	repository string
}

// holds is whether the Secret has the password.
func (s repositorySecret) holds(wanted repositoryPassword) bool {
	return s.exists && s.password == wanted.value
}

// declares is whether an enrollment keeps the Secret: not one of somebody else with the same password, which it shares. A
// Verdict as the error says why the password cannot be set. It is pure.
func (s repositorySecret) declares(wanted repositoryPassword, name string) (bool, error) {
	switch {
	case s.shared:
		return false, nil
	case s.applied || !s.exists && s.owner == "":
		return true, nil
	case s.owner != "" && s.holds(wanted):
		return false, nil
	case s.owner != "":
		return false, passwordConflict("Secret %s belongs to %s and holds another repository password than %s. Velero has one for a cluster: name the same password in all policies for it",
			name, s.owner, wanted.source)
	case s.holds(wanted) || s.repository == "":
		return true, nil
	case s.password == publishedPassword:
		return false, passwordConflict("BackupRepository %s is encrypted with the password that Velero publishes, and Velero cannot change it: delete the backups that hold data of volumes, the BackupRepositories, and what is below kopia/ in the prefix of the cluster; the password is set then",
			s.repository)
	}
	return false, passwordConflict("BackupRepository %s is encrypted with the password in Secret %s, which differs from %s, and Velero cannot change it: put the old password back there, or delete the backups that hold data of volumes, the BackupRepositories, and what is below kopia/ in the prefix of the cluster",
		s.repository, name, wanted.source)
}

func passwordConflict(format string, args ...any) *target.Verdict {
	return &target.Verdict{Reason: backupv1alpha1.ReasonRepositoryPasswordConflict, Stalled: true, Message: fmt.Sprintf(format, args...)}
}

// awaitsPassword is whether a password is in the way, so that the enrollment looks again.
func awaitsPassword(problem error) bool {
	var verdict *target.Verdict
	return errors.As(problem, &verdict) && verdict.Reason == backupv1alpha1.ReasonRepositoryPasswordConflict
}

// declarePassword returns the Secret with the password of Velero's repositories, if the policy names one. It stays when the
// policy ends: without it Velero reads none of its repositories, and sets the published password for new ones.
func (r *Reconciler) declarePassword(ctx context.Context, o *observation, cluster *fleet.Cluster, arranged *backupv1alpha1.VeleroObjects) ([]apply.Declaration, error) {
	if _, named := passwordKey(o.Target); !named {
		return nil, nil
	}
	wanted, err := readPassword(ctx, r.Room.APIReader, o.Target)
	if err != nil {
		return nil, err
	}
	arranged.RepositoryPasswordVersion = wanted.version
	object := passwordObject(arranged.Namespace, wanted)
	found, err := r.observeSecret(ctx, o, cluster, object)
	if err != nil {
		return nil, err
	}
	declares, err := found.declares(wanted, arranged.Namespace+"/"+repositorySecretName)
	if err != nil || !declares {
		return nil, err
	}
	return []apply.Declaration{{Unstructured: object, Kept: true}}, nil
}

func passwordObject(namespace string, wanted repositoryPassword) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"type": "Opaque",
		"data": map[string]any{repositorySecretKey: base64.StdEncoding.EncodeToString([]byte(wanted.value))},
	}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	object.SetNamespace(namespace)
	object.SetName(repositorySecretName)
	return object
}

// observeSecret looks at the Secret in the cluster, unless it was applied as it is to be.
func (r *Reconciler) observeSecret(ctx context.Context, o *observation, cluster *fleet.Cluster, declared *unstructured.Unstructured) (repositorySecret, error) {
	prepared, err := apply.PrepareOne(declared.DeepCopy(), r.Installation)
	if err != nil {
		return repositorySecret{}, err
	}
	if known, listed := o.Inventory[prepared.Key()]; listed && known.Hash == prepared.Hash {
		return repositorySecret{applied: true}, nil
	}
	var found repositorySecret
	if holder, taken := cluster.Tracker.OwnerOf(prepared.Key()); taken && holder != r.Room.Owner(o.Target) {
		if found.shared, err = r.sharesPassword(ctx, o.Target, holder); found.shared || err != nil {
			return found, err
		}
		found.owner = r.Room.OwnerName(ctx, holder)
	}
	if err := found.read(ctx, cluster, prepared.Ref, r.Installation); err != nil {
		return repositorySecret{}, err
	}
	found.repository, err = anyRepository(ctx, cluster, prepared.Namespace)
	return found, err
}

// sharesPassword is whether the one that keeps the Secret in the cluster takes the password from where the enrollment does.
func (r *Reconciler) sharesPassword(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment, holder tracker.Owner) (bool, error) {
	if holder.Kind != r.Name() || holder.Namespace != enrollment.Namespace {
		return false, nil
	}
	other := r.New()
	err := r.Room.Client.Get(ctx, holder.NamespacedName, other)
	return err == nil && equality.Semantic.DeepEqual(other.Spec.RepositoryPassword, enrollment.Spec.RepositoryPassword), client.IgnoreNotFound(err)
}

// read looks up what the Secret holds, and whose it is if no target has it. Its errors tell nothing of the content.
func (s *repositorySecret) read(ctx context.Context, cluster *fleet.Cluster, ref objects.Ref, installation string) error {
	secrets, err := cluster.Secrets(ref.Namespace)
	if err != nil {
		return err
	}
	secret, err := secrets.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	s.exists, s.password = true, strings.TrimSpace(string(secret.Data[repositorySecretKey]))
	if s.owner == "" {
		s.owner = objects.ClaimedBy(secret, installation)
	}
	return nil
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
