package tenantcluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/rights"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update;delete

// renewTime bounds a try to get a token: a request for it, its trial, some questions on rights, and two writes.
const renewTime = 2 * time.Minute

// startRenewal has a token requested, beside the workers.
func (r *reconciler) startRenewal(o observation) {
	live, ok := r.connections.Get(o.key)
	if !ok || string(live.ID) != o.cluster.Status.ClusterID {
		return // The connection tells when that changes.
	}
	cluster, own := o.cluster.DeepCopy(), o.credentials.own
	r.renewals.Start(r.renewalID(o), o.now.Add(renewTime), func(ctx context.Context) (written, error) {
		token, err := r.requestToken(ctx, live, *accountOf(cluster), own)
		if err != nil {
			return written{}, err
		}
		version, err := r.keepToken(ctx, cluster, token, own)
		return written{version, r.clock.Now()}, err
	})
}

// requestToken requests a token and tries it. What it returns is good to be used in the place of the credentials in use.
func (r *reconciler) requestToken(ctx context.Context, live *fleet.Cluster, account tenancyv1alpha1.ServiceAccountReference, own kubeconfig.Access) (renewedToken, error) {
	minted := r.clock.Now()
	value, expires, err := live.RequestToken(ctx, types.NamespacedName{Namespace: account.Namespace, Name: account.Name}, tokenLife)
	if err != nil {
		return renewedToken{}, whyNoToken(err, account)
	}
	access, err := own.WithToken(value)
	if err != nil {
		return renewedToken{}, &renewalFailure{tenancyv1alpha1.ReasonRenewalFailed, fmt.Sprintf("What the cluster gave for ServiceAccount %s is no token: %s.", account, err)}
	}
	token := renewedToken{access: access, account: account.String(), mintedAt: minted.UTC().Truncate(time.Second), expiresAt: boundedExpiry(value, minted, expires)}
	if token.expiresAt.Before(minted.Add(minTokenLife)) {
		return renewedToken{}, &renewalFailure{tenancyv1alpha1.ReasonTokenExpiresTooSoon, fmt.Sprintf(
			"The cluster gave a token of ServiceAccount %s that expires at %s, in less than %s: see the API server's --service-account-max-token-expiration, and the clocks.",
			account, token.expiresAt.Format(time.RFC3339), minTokenLife)}
	}
	return token, r.tryToken(ctx, live, account, access)
}

// tryToken opens a connection of its own with a token. It must lead to the same cluster, and be permitted what the credentials
// in use are.
func (r *reconciler) tryToken(ctx context.Context, live *fleet.Cluster, account tenancyv1alpha1.ServiceAccountReference, access kubeconfig.Access) error {
	trial, err := live.Try(ctx, access)
	if fleet.IsUnauthorized(err) {
		return &renewalFailure{tenancyv1alpha1.ReasonTokenRefused, fmt.Sprintf(
			"The cluster does not accept the token that it gave for ServiceAccount %s, or does not permit it to get namespace kube-system: grant the ServiceAccount the rights of the kubeconfig's credentials.", account)}
	}
	if err != nil {
		return err
	}
	defer trial.Close()
	if trial.Identity != live.ID {
		return &renewalFailure{tenancyv1alpha1.ReasonTokenOfOtherCluster, fmt.Sprintf(
			"With the token of ServiceAccount %s the kubeconfig's address leads to another cluster than before, so it is not used: see what stands behind that address.", account)}
	}
	inUse, err := live.Authorization()
	if err != nil {
		return err
	}
	tried, err := trial.Authorization()
	if err != nil {
		return err
	}
	lacking, err := rights.Lacking(ctx, inUse, tried, metav1.NamespaceSystem, metav1.NamespaceDefault, account.Namespace)
	if err != nil {
		return err
	}
	if lacking != "" {
		return &renewalFailure{tenancyv1alpha1.ReasonTokenLacksRights, fmt.Sprintf(
			"ServiceAccount %s may do less than the credentials in use; it lacks %q: grant it the same roles, such as cluster-admin.", account, lacking)}
	}
	return nil
}

// whyNoToken names what a person has to do.
func whyNoToken(err error, account tenancyv1alpha1.ServiceAccountReference) error {
	switch {
	case apierrors.IsNotFound(err):
		return &renewalFailure{tenancyv1alpha1.ReasonServiceAccountNotFound, fmt.Sprintf(
			"ServiceAccount %s does not exist in the cluster: create it with the rights of the kubeconfig's credentials, or correct spec.kubeconfigRef.renew.serviceAccount.", account)}
	case apierrors.IsForbidden(err):
		return &renewalFailure{tenancyv1alpha1.ReasonTokenRequestForbidden, fmt.Sprintf(
			"The credentials in use may not request tokens of ServiceAccount %s: grant them the verb create on serviceaccounts/token in namespace %s.", account, account.Namespace)}
	}
	return err
}

// keepToken writes a token into its Secret, and returns the version.
func (r *reconciler) keepToken(ctx context.Context, cluster *tenancyv1alpha1.TenantCluster, token renewedToken, own kubeconfig.Access) (string, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: tokenSecretOf(cluster.Name)}
	err := r.live.Get(ctx, key, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	exists := err == nil
	if exists && secret.Type != tenancyv1alpha1.SecretTypeRenewedToken {
		return "", &renewalFailure{tenancyv1alpha1.ReasonRenewedSecretExists, fmt.Sprintf(
			"There is a Secret %s that Daytwo did not make, in which the token would be kept: delete it, or give it another name.", key.Name)}
	}
	secret.Namespace, secret.Name, secret.Type = key.Namespace, key.Name, tenancyv1alpha1.SecretTypeRenewedToken
	secret.Labels = map[string]string{labelRenewedFor: cluster.Name}
	secret.Data = token.data(own)
	secret.OwnerReferences = nil
	if err := controllerutil.SetControllerReference(cluster, secret, r.client.Scheme()); err != nil {
		return "", err
	}
	if secret.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(secret, metav1alpha1.FinalizerAccess)
	}
	if exists {
		err = r.client.Update(ctx, secret)
	} else {
		err = r.client.Create(ctx, secret)
	}
	if err != nil {
		return "", fmt.Errorf("write Secret %s: %w", key.Name, err)
	}
	return secret.ResourceVersion, nil
}

// dropToken deletes the Secret with the token, and lets go of it first.
func (r *reconciler) dropToken(ctx context.Context, o observation) error {
	if o.renewal.secret == nil {
		return nil
	}
	secret := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKeyFromObject(o.renewal.secret), secret)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s: %w", o.renewal.secret.Name, err)
	}
	if err != nil || secret.Type != tenancyv1alpha1.SecretTypeRenewedToken {
		return nil
	}
	before := secret.DeepCopy()
	if controllerutil.RemoveFinalizer(secret, metav1alpha1.FinalizerAccess) {
		if err := r.client.Patch(ctx, secret, guardedPatch(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove finalizer from Secret %s: %w", secret.Name, err)
		}
	}
	if err := r.client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Secret %s: %w", secret.Name, err)
	}
	return nil
}
