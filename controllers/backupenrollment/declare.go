package backupenrollment

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/starts"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroversion"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Declare implements target.DeclaredKind.
func (r *Reconciler) Declare(ctx context.Context, o *observation, cluster *fleet.Cluster) ([]apply.Object, error) {
	content, err := backupcontent.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: o.Target.Namespace, Name: o.Target.Spec.Revision})
	if err != nil {
		return nil, err
	}
	if err := r.checkHooks(content.Template); err != nil {
		return nil, err
	}
	if err := requireVelero(ctx, cluster, content.VeleroNamespace); err != nil {
		return nil, err
	}
	access, err := readCredentials(ctx, r.Room.APIReader, o.Target)
	if err != nil {
		return nil, err
	}
	arranged, err := veleroobjects.Arrange(o.Status.Velero, content, veleroobjects.PolicyOf(o.Target), cluster.ID, o.Now)
	if err != nil {
		return nil, &target.Verdict{Reason: backupv1alpha1.ReasonScheduleInvalid, Message: err.Error(), Cause: err, Stalled: true}
	}
	// A password that is refused is not on record, so that it is looked at again.
	password, err := r.declarePassword(ctx, o, cluster, arranged)
	if err != nil {
		return nil, err
	}
	now := starts.BlackoutsOf(o.Target).At(o.Now)
	arranged.Paused, arranged.SkippedUntil = now.Open, now.SkippedUntil(o.Status.Velero, o.Now)
	arranged.CredentialsVersion = access.Version
	arranged.ValidationFrequency = &metav1.Duration{Duration: validationFrequency(o)}
	o.Extra.arranged = arranged
	if o.Extra.template, err = veleroobjects.BackupSpec(content, arranged); err != nil {
		return nil, err
	}
	list, err := veleroobjects.Desired(content, arranged, access, o.Extra.template)
	if err != nil {
		return nil, err
	}
	return apply.Prepare(append(password, apply.Declare(list)...), r.Installation, "")
}

// requireVelero returns a Verdict if the cluster has no Velero to work with.
func requireVelero(ctx context.Context, cluster *fleet.Cluster, namespace string) error {
	for _, kind := range []schema.GroupVersionKind{veleroobjects.LocationKind, veleroobjects.ScheduleKind} {
		_, err := cluster.Resource(ctx, kind)
		if meta.IsNoMatchError(err) {
			return veleroUnavailable("the cluster does not serve %s of %s: install Velero %s or newer there", kind.Kind, kind.GroupVersion(), veleroversion.Oldest)
		}
		if err != nil {
			return err
		}
	}
	found, err := cluster.Find(ctx, objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: namespace})
	if err == nil && found == nil {
		return veleroUnavailable("the cluster has no namespace %s: install Velero there, or name its namespace in spec.veleroNamespace", namespace)
	}
	return err
}

func veleroUnavailable(format string, args ...any) *target.Verdict {
	return &target.Verdict{Reason: backupv1alpha1.ReasonVeleroUnavailable, Stalled: true, Message: fmt.Sprintf(format, args...)}
}
