// Package renewedtoken is the token of a ServiceAccount with which Daytwo reaches a cluster in the place of its kubeconfig's own
// credentials: how it is requested, tried and kept, and when it is used.
//
// The cluster that gives a token is not trusted with anything else. A token is used after it led to the same cluster in a trial,
// and is permitted there what the credentials in use are. No error quotes what a cluster said.
package renewedtoken

import (
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
)

const (
	// Life is how long a token is asked for. The cluster may give less.
	Life = 7 * 24 * time.Hour
	// minLife is the least that a token must be good for: API servers refuse to give one for less.
	minLife = 10 * time.Minute
	// maxClockSkew is how far ahead of the manager's clock a token may have been minted, by the manager before.
	maxClockSkew = time.Minute
)

// Keys of the Secret with a token. What they hold may be anybody's.
const (
	KeyToken = "token"
	// KeyKubeconfig has the fingerprint of the kubeconfig that the token was requested with.
	KeyKubeconfig = "kubeconfig"
	// KeyAccount has the ServiceAccount, as namespace/name.
	KeyAccount   = "serviceAccount"
	KeyMintedAt  = "mintedAt"
	KeyExpiresAt = "expiresAt"
)

// SecretOf is the name of the Secret in which the token of a TenantCluster is kept.
func SecretOf(cluster string) string { return cluster + "-renewed-token" }

// Token is one that Daytwo requested, as its Secret has it.
type Token struct {
	Access kubeconfig.Access
	// Account is the ServiceAccount, as namespace/name.
	Account   string
	MintedAt  time.Time
	ExpiresAt time.Time
}

// Data of the Secret in which a token is kept.
func (t Token) Data(own kubeconfig.Access) map[string][]byte {
	return map[string][]byte{
		KeyToken: []byte(t.Access.Token), KeyKubeconfig: []byte(own.Fingerprint()), KeyAccount: []byte(t.Account),
		KeyMintedAt: []byte(t.MintedAt.UTC().Format(time.RFC3339)), KeyExpiresAt: []byte(t.ExpiresAt.UTC().Format(time.RFC3339)),
	}
}

// Read takes the token, and nothing else of how the cluster is reached, from a Secret. Nil means that the Secret has none
// that was requested with the kubeconfig as it is now.
func Read(secret *corev1.Secret, own kubeconfig.Access) *Token {
	told := func(key string) string { return string(secret.Data[key]) }
	if secret.Type != tenancyv1alpha1.SecretTypeRenewedToken || told(KeyKubeconfig) != own.Fingerprint() {
		return nil
	}
	access, err := own.WithToken(told(KeyToken))
	minted, wrong := time.Parse(time.RFC3339, told(KeyMintedAt))
	expires, alsoWrong := time.Parse(time.RFC3339, told(KeyExpiresAt))
	if err != nil || wrong != nil || alsoWrong != nil {
		return nil
	}
	read := &Token{Access: access, Account: told(KeyAccount), MintedAt: minted, ExpiresAt: boundedExpiry(access.Token, minted, expires)}
	if !read.ExpiresAt.After(minted) {
		return nil
	}
	return read
}

// boundedExpiry is the earliest that is told of a token's end: by whoever gave it, by the token itself, and by what was asked for.
func boundedExpiry(token string, minted, told time.Time) time.Time {
	earliest := minted.Add(Life)
	if told.Before(earliest) {
		earliest = told
	}
	if own, known := kubeconfig.TokenExpiry(token); known && own.Before(earliest) {
		earliest = own
	}
	return earliest.UTC().Truncate(time.Second)
}

// IsGood says whether a token is one to use.
func (t *Token) IsGood(now time.Time) bool {
	return t != nil && now.Before(t.ExpiresAt) && !t.MintedAt.After(now.Add(maxClockSkew))
}

// RenewAt is when another token is to take the place of this one: at half its life, and up to a tenth of it before, so that
// clusters that were registered together are not renewed together.
func (t *Token) RenewAt(cluster types.UID) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(cluster)) // It never fails.
	life := t.ExpiresAt.Sub(t.MintedAt)
	early := time.Duration(float64(life) / 10 * float64(hash.Sum32()%1000) / 1000)
	return t.MintedAt.Add(life/2 - early).Truncate(time.Second)
}
