package backupenrollment

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/veleroobjects"
	"github.com/daytwo-dev/daytwo/controllers/internal/assumerole"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=update

// maxMinted is how long credentials are good where the policy does not say.
const maxMinted = 12 * time.Hour

// mintTime is how long it may take to mint credentials and to write them.
const mintTime = time.Minute

// newMints are the tasks that mint credentials. Whatever fails may be mended at AWS.
func newMints() *background.Tasks[struct{}] {
	return background.New[struct{}](func(error) bool { return false })
}

// mint has temporary credentials minted that are due. They are kept in a Secret beside the enrollment, so that a start of the
// manager mints none. While work is held off, those at hand go on being renewed: backups go on being made with them.
func (r *Reconciler) mint(ctx context.Context, o *observation, cluster types.UID) (minting, error) {
	role := o.Target.Spec.AssumeRole
	if role == nil {
		return minting{}, nil
	}
	prefix, err := r.prefixOf(ctx, o, cluster)
	if err != nil {
		return minting{role: role, problem: err.Error()}, nil
	}
	secret := objects.MetadataOf(corev1.SchemeGroupVersion.WithKind("Secret"))
	err = r.Room.Client.Get(ctx, secretOf(o.Target), secret)
	switch {
	case apierrors.IsNotFound(err):
		secret = nil
	case err != nil:
		return minting{}, err
	}
	m := planMinting(minting{role: role, purpose: purposeOf(*role, prefix)}, secret, o.Now)
	id := background.IDOf(o.Target, "mint "+m.purpose+" "+versionOf(secret))
	progress := r.mints.Progress(id)
	if progress.Err != nil {
		m.problem = progress.Err.Error()
	}
	switch {
	case !m.due || progress.Running || progress.Done:
	case progress.Err != nil && o.Now.Before(progress.Again):
		m.wakeAt = progress.Again
	default:
		enrollment := o.Target.DeepCopy()
		r.mints.Start(id, o.Now.Add(mintTime), func(ctx context.Context) (struct{}, error) {
			return struct{}{}, r.mintInto(ctx, enrollment, prefix, m.purpose)
		})
	}
	return m, nil
}

func versionOf(secret *metav1.PartialObjectMetadata) string {
	if secret == nil {
		return ""
	}
	return secret.ResourceVersion
}

// prefixOf the cluster's backups, also before anything was arranged.
func (r *Reconciler) prefixOf(ctx context.Context, o *observation, cluster types.UID) (string, error) {
	if own := o.Status.Velero; own != nil {
		return own.Prefix, nil
	}
	content, err := backupcontent.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: o.Target.Namespace, Name: o.Target.Spec.Revision})
	if err != nil {
		return "", err
	}
	return veleroobjects.PrefixIn(content, veleroobjects.PolicyOf(o.Target), cluster), nil
}

// mintInto mints credentials, and writes them into the Secret that the enrollment names.
func (r *Reconciler) mintInto(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment, prefix, purpose string) error {
	content, err := backupcontent.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Spec.Revision})
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	err = r.Room.APIReader.Get(ctx, secretOf(enrollment), secret)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	exists := err == nil
	if exists && (secret.Type != metav1alpha1.SecretTypeMintedCredentials || !metav1.IsControlledBy(secret, enrollment)) {
		return fmt.Errorf("there is a Secret %s, which is in the way of temporary credentials: delete it", secretOf(enrollment))
	}
	role, now := enrollment.Spec.AssumeRole, r.Clock.Now()
	minted, err := r.Minter.Mint(ctx, assumerole.Request{
		RoleARN: role.RoleARN, ExternalID: "daytwo:" + enrollment.Namespace, Session: "daytwo-" + enrollment.Name, Duration: ptr.Deref(role.Duration, metav1.Duration{Duration: maxMinted}).Duration,
		Policy: assumerole.Policy{Bucket: content.Storage.Bucket, Prefix: prefix},
		Region: content.Storage.Region, Endpoint: role.Endpoint, CA: content.Storage.CA,
	})
	if err != nil {
		return err
	}
	if !minted.ExpiresAt.After(now) {
		return errors.New("STS gave credentials that are good no more: see whether the clock of the manager is right")
	}
	secret.Namespace, secret.Name, secret.Type = enrollment.Namespace, enrollment.Spec.CredentialsSecret, metav1alpha1.SecretTypeMintedCredentials
	secret.Labels = map[string]string{metav1alpha1.LabelPolicy: enrollment.Labels[metav1alpha1.LabelPolicy], metav1alpha1.LabelCluster: enrollment.Spec.ClusterRef.Name}
	secret.Annotations = map[string]string{
		annotationMintedAt: now.UTC().Format(time.RFC3339), annotationExpiresAt: minted.ExpiresAt.UTC().Format(time.RFC3339), annotationMintedFor: purpose,
	}
	secret.Data = minted.Data()
	if exists {
		return r.Room.Client.Update(ctx, secret)
	}
	if err := controllerutil.SetControllerReference(enrollment, secret, r.Room.Client.Scheme()); err != nil {
		return err
	}
	return r.Room.Client.Create(ctx, secret)
}
