package tenantcluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

const (
	// tokenLife is how long a token is asked for. The cluster may give less.
	tokenLife = 7 * 24 * time.Hour
	// minTokenLife is the least that a token must be good for: API servers refuse to give one for less.
	minTokenLife = 10 * time.Minute
)

// Keys of the Secret with a token. What they hold may be anybody's.
const (
	keyToken = "token"
	// keyKubeconfig has the fingerprint of the kubeconfig that the token was requested with.
	keyKubeconfig = "kubeconfig"
	// keyAccount has the ServiceAccount, as namespace/name.
	keyAccount   = "serviceAccount"
	keyMintedAt  = "mintedAt"
	keyExpiresAt = "expiresAt"
)

// tokenSecretOf is the name of the Secret in which the token of a TenantCluster is kept.
func tokenSecretOf(cluster string) string { return cluster + "-renewed-token" }

// accountOf returns the ServiceAccount whose tokens are to be renewed; nil for none.
func accountOf(cluster *tenancyv1alpha1.TenantCluster) *tenancyv1alpha1.ServiceAccountReference {
	if ref := cluster.Spec.KubeconfigRef; ref != nil && ref.Renew != nil {
		return &ref.Renew.ServiceAccount
	}
	return nil
}

// renewedToken is a token that Daytwo requested, as its Secret has it.
type renewedToken struct {
	access kubeconfig.Access
	// account is the ServiceAccount, as namespace/name.
	account   string
	mintedAt  time.Time
	expiresAt time.Time
}

// data of the Secret in which a token is kept.
func (t renewedToken) data(own kubeconfig.Access) map[string][]byte {
	return map[string][]byte{
		keyToken: []byte(t.access.Token), keyKubeconfig: []byte(own.Fingerprint()), keyAccount: []byte(t.account),
		keyMintedAt: []byte(t.mintedAt.UTC().Format(time.RFC3339)), keyExpiresAt: []byte(t.expiresAt.UTC().Format(time.RFC3339)),
	}
}

// readToken takes the token, and nothing else of how the cluster is reached, from a Secret. Nil means that the Secret has none
// that was requested with the kubeconfig as it is now.
func readToken(secret *corev1.Secret, own kubeconfig.Access) *renewedToken {
	told := func(key string) string { return string(secret.Data[key]) }
	if secret.Type != tenancyv1alpha1.SecretTypeRenewedToken || told(keyKubeconfig) != own.Fingerprint() {
		return nil
	}
	access, err := own.WithToken(told(keyToken))
	minted, wrong := time.Parse(time.RFC3339, told(keyMintedAt))
	expires, alsoWrong := time.Parse(time.RFC3339, told(keyExpiresAt))
	if err != nil || wrong != nil || alsoWrong != nil {
		return nil
	}
	read := &renewedToken{access: access, account: told(keyAccount), mintedAt: minted, expiresAt: boundedExpiry(access.Token, minted, expires)}
	if !read.expiresAt.After(minted) {
		return nil
	}
	return read
}

// boundedExpiry is the earliest that is told of a token's end: by whoever gave it, by the token itself, and by what was asked for.
func boundedExpiry(token string, minted, told time.Time) time.Time {
	earliest := minted.Add(tokenLife)
	if told.Before(earliest) {
		earliest = told
	}
	if own, known := kubeconfig.TokenExpiry(token); known && own.Before(earliest) {
		earliest = own
	}
	return earliest.UTC().Truncate(time.Second)
}
