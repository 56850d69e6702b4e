// Package assumerole mints temporary credentials for the backups of one cluster, with AssumeRole of AWS STS.
package assumerole

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

const (
	// answerTime is how long STS may take for one answer, and maxTries how often it is asked at a time.
	answerTime = 15 * time.Second
	maxTries   = 2
	// maxSessionName is how long the name of a session may be (STS API reference, AssumeRole).
	maxSessionName = 64
)

// Minter mints credentials as the provider of Daytwo. It is safe for concurrent use.
type Minter struct {
	// Guard permits the addresses at which STS may be.
	Guard netguard.Guard
	// Identity is what the manager is to AWS; by default what its environment says: variables, files, a web identity, or the
	// machine.
	Identity aws.CredentialsProvider
}

// Request is for credentials.
type Request struct {
	// RoleARN is the role that is assumed.
	RoleARN string
	// ExternalID is who asks: the owner of a role can demand one, so that nobody else has Daytwo assume it.
	ExternalID string
	// Session is a name for it in the logs of AWS. What STS has no room for is left out.
	Session string
	// Policy is what the credentials may do, of what the role may do.
	Policy Policy
	// Duration is for how long, from 15 minutes to 12 hours.
	Duration time.Duration
	// Region of STS. Endpoint is the URL of another one than Amazon's; empty for that. CA is what it is trusted by, in PEM; empty
	// for what the system trusts.
	Region, Endpoint, CA string
}

// Minted are temporary credentials.
type Minted struct {
	backupstore.Credentials

	ExpiresAt time.Time
}

// Mint asks STS for credentials. Its errors pass nothing on that the service answers but the code.
func (m *Minter) Mint(ctx context.Context, request Request) (Minted, error) {
	policy, err := request.Policy.JSON()
	if err != nil {
		return Minted{}, err
	}
	client, err := m.client(ctx, request)
	if err != nil {
		return Minted{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxTries*answerTime)
	defer cancel()
	answer, err := client.AssumeRole(ctx, &sts.AssumeRoleInput{
		RoleArn: &request.RoleARN, RoleSessionName: aws.String(sessionName(request.Session)), ExternalId: &request.ExternalID,
		Policy: &policy, DurationSeconds: aws.Int32(int32(request.Duration.Seconds())),
	})
	if err != nil {
		return Minted{}, explain(request, err)
	}
	given := answer.Credentials
	if given == nil || aws.ToString(given.AccessKeyId) == "" || aws.ToString(given.SecretAccessKey) == "" || given.Expiration == nil {
		return Minted{}, fmt.Errorf("assume role %s: the answer of STS holds no credentials", request.RoleARN)
	}
	return Minted{
		Credentials: backupstore.Credentials{AccessKeyID: *given.AccessKeyId, SecretAccessKey: *given.SecretAccessKey, SessionToken: aws.ToString(given.SessionToken)},
		ExpiresAt:   *given.Expiration,
	}, nil
}

func (m *Minter) client(ctx context.Context, request Request) (*sts.Client, error) {
	identity := m.Identity
	if identity == nil {
		found, err := config.LoadDefaultConfig(ctx, config.WithRegion(request.Region))
		if err != nil {
			return nil, errors.New("what the environment of the manager says of its identity at AWS cannot be read: see the documentation of AWS about shared configuration")
		}
		identity = found.Credentials
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if request.CA != "" {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM([]byte(request.CA)) {
			return nil, fmt.Errorf("the certificates for %s are no PEM", request.Endpoint)
		}
	}
	transport := &http.Transport{
		DialContext: m.Guard.DialContext, TLSClientConfig: tlsConfig, ResponseHeaderTimeout: answerTime, TLSHandshakeTimeout: answerTime,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	options := sts.Options{
		Region: request.Region, RetryMaxAttempts: maxTries, Credentials: identity,
		HTTPClient: &http.Client{Transport: bounded{transport}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if request.Endpoint != "" {
		options.BaseEndpoint = &request.Endpoint
	}
	return sts.New(options), nil
}

// maxAnswer is how long an answer of STS may be, in bytes. A session token has up to some thousand.
const maxAnswer = 256 << 10

// bounded reads no more than that of an answer.
type bounded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.inner.RoundTrip(request)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// explain says what a failure means.
func explain(request Request, err error) error {
	var refused *netguard.RefusedError
	var answer smithy.APIError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("assume role %s: %s has an address that is not on the Internet: ask the provider to run Daytwo with private storage allowed", request.RoleARN, refused.Host)
	case errors.As(err, &answer):
		code := answer.ErrorCode()
		if len(code) > 64 || len(validation.IsQualifiedName(code)) > 0 {
			code = "with an error"
		}
		return fmt.Errorf("assume role %s: STS answers %s: see whether its trust policy permits Daytwo with the external ID %s, and whether its maximum session duration is at least %s",
			request.RoleARN, code, request.ExternalID, request.Duration)
	}
	return fmt.Errorf("assume role %s: STS does not answer as it should", request.RoleARN)
}

var notInSessionName = regexp.MustCompile(`[^\w+=,.@-]`)

func sessionName(name string) string {
	name = notInSessionName.ReplaceAllString(name, "-")
	return name[:min(len(name), maxSessionName)]
}
