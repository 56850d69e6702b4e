package renewedtoken

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/rights"
)

// Request requests a token and tries it. What it returns is good to be used in the place of the credentials in use.
func Request(ctx context.Context, live *fleet.Cluster, account tenancyv1alpha1.ServiceAccountReference, own kubeconfig.Access, clock clock.PassiveClock) (Token, error) {
	minted := clock.Now()
	value, expires, err := live.RequestToken(ctx, types.NamespacedName{Namespace: account.Namespace, Name: account.Name}, Life)
	if err != nil {
		return Token{}, whyNoToken(err, account)
	}
	access, err := own.WithToken(value)
	if err != nil {
		return Token{}, &Failure{tenancyv1alpha1.ReasonRenewalFailed, fmt.Sprintf("What the cluster gave for ServiceAccount %s is no token: %s.", account, err)}
	}
	token := Token{Access: access, Account: account.String(), MintedAt: minted.UTC().Truncate(time.Second), ExpiresAt: boundedExpiry(value, minted, expires)}
	if token.ExpiresAt.Before(minted.Add(minLife)) {
		return Token{}, &Failure{tenancyv1alpha1.ReasonTokenExpiresTooSoon, fmt.Sprintf(
			"The cluster gave a token of ServiceAccount %s that expires at %s, in less than %s: see the API server's --service-account-max-token-expiration, and the clocks.",
			account, token.ExpiresAt.Format(time.RFC3339), minLife)}
	}
	return token, try(ctx, live, account, access)
}

// try opens a connection of its own with a token. It must lead to the same cluster, and be permitted what the credentials
// in use are.
func try(ctx context.Context, live *fleet.Cluster, account tenancyv1alpha1.ServiceAccountReference, access kubeconfig.Access) error {
	trial, err := live.Try(ctx, access)
	if fleet.IsUnauthorized(err) {
		return &Failure{tenancyv1alpha1.ReasonTokenRefused, fmt.Sprintf(
			"The cluster does not accept the token that it gave for ServiceAccount %s, or does not permit it to get namespace kube-system: grant the ServiceAccount the rights of the kubeconfig's credentials.", account)}
	}
	if err != nil {
		return err
	}
	defer trial.Close()
	if trial.Identity != live.ID {
		return &Failure{tenancyv1alpha1.ReasonTokenOfOtherCluster, fmt.Sprintf(
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
		return &Failure{tenancyv1alpha1.ReasonTokenLacksRights, fmt.Sprintf(
			"ServiceAccount %s may do less than the credentials in use; it lacks %q: grant it the same roles, such as cluster-admin.", account, lacking)}
	}
	return nil
}

// whyNoToken names what a person has to do.
func whyNoToken(err error, account tenancyv1alpha1.ServiceAccountReference) error {
	switch {
	case apierrors.IsNotFound(err):
		return &Failure{tenancyv1alpha1.ReasonServiceAccountNotFound, fmt.Sprintf(
			"ServiceAccount %s does not exist in the cluster: create it with the rights of the kubeconfig's credentials, or correct spec.kubeconfigRef.renew.serviceAccount.", account)}
	case apierrors.IsForbidden(err):
		return &Failure{tenancyv1alpha1.ReasonTokenRequestForbidden, fmt.Sprintf(
			"The credentials in use may not request tokens of ServiceAccount %s: grant them the verb create on serviceaccounts/token in namespace %s.", account, account.Namespace)}
	}
	return err
}
