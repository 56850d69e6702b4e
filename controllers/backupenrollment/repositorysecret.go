package backupenrollment

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// passwordPatience is when to look again at a password that is in the way: nothing tells when Velero's repositories go, or another
// policy ends.
const passwordPatience = time.Minute

// repositorySecret is what is known of the Secret in the cluster.
type repositorySecret struct {
	repositorypassword.Held

	// applied: it was applied as it is to be now. What it holds otherwise is somebody's change.
	applied bool
	// shared: an enrollment keeps it that takes the password from the same Secret.
	shared bool
}

// declares is whether an enrollment keeps the Secret: not one of somebody else with the same password, which it shares. A
// Verdict as the error says why the password cannot be set. It is pure.
func (s repositorySecret) declares(wanted repositorypassword.Password, name string) (bool, error) {
	switch {
	case s.shared:
		return false, nil
	case s.applied || !s.Exists() && s.Owner == "":
		return true, nil
	case s.Owner != "" && s.Is(wanted):
		return false, nil
	case s.Owner != "":
		return false, passwordConflict("Secret %s belongs to %s and holds another repository password than %s. Velero has one for a cluster: name the same password in all policies for it",
			name, s.Owner, wanted.Source)
	case s.Is(wanted) || s.Repository == "":
		return true, nil
	case s.Password == repositorypassword.Published:
		return false, passwordConflict("BackupRepository %s is encrypted with the password that Velero publishes, and Velero cannot change it: delete the backups that hold data of volumes, the BackupRepositories, and what is below kopia/ in the prefix of the cluster; the password is set then",
			s.Repository)
	}
	return false, passwordConflict("BackupRepository %s is encrypted with the password in Secret %s, which differs from %s, and Velero cannot change it: put the old password back there, or delete the backups that hold data of volumes, the BackupRepositories, and what is below kopia/ in the prefix of the cluster",
		s.Repository, name, wanted.Source)
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
	arranged.RepositoryPasswordVersion = wanted.Version
	object := passwordObject(arranged.Namespace, wanted)
	found, err := r.observeSecret(ctx, o, cluster, object)
	if err != nil {
		return nil, err
	}
	declares, err := found.declares(wanted, arranged.Namespace+"/"+repositorypassword.SecretName)
	if err != nil || !declares {
		return nil, err
	}
	return []apply.Declaration{{Unstructured: object, Kept: true}}, nil
}

func passwordObject(namespace string, wanted repositorypassword.Password) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"type": "Opaque",
		"data": map[string]any{repositorypassword.SecretKey: base64.StdEncoding.EncodeToString([]byte(wanted.Value))},
	}}
	ref := repositorypassword.RefOf(namespace)
	object.SetGroupVersionKind(ref.GroupVersionKind)
	object.SetNamespace(ref.Namespace)
	object.SetName(ref.Name)
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
	owner := ""
	if holder, taken := cluster.Tracker.OwnerOf(prepared.Key()); taken && holder != r.Room.Owner(o.Target) {
		if shared, err := r.sharesPassword(ctx, o.Target, holder); shared || err != nil {
			return repositorySecret{shared: shared}, err
		}
		owner = r.Room.OwnerName(ctx, r.Room.Owner(o.Target), holder)
	}
	held, err := repositorypassword.ReadHeld(ctx, cluster, prepared.Namespace, r.Installation)
	held.Owner = cmp.Or(owner, held.Owner)
	return repositorySecret{Held: held}, err
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
