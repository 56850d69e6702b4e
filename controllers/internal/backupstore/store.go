package backupstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// Location is where the backups of one cluster are.
type Location struct {
	Bucket string
	// Prefix of the cluster's backups, without slashes at its ends.
	Prefix string
	Region string
	// Endpoint is the URL of a service other than Amazon's; empty for that.
	Endpoint string
	// CA is what the endpoint is trusted by, in PEM; empty for what the system trusts.
	CA string
}

// Credentials that a bucket is read with.
type Credentials struct {
	AccessKeyID, SecretAccessKey string
	// SessionToken of temporary ones; empty for others.
	SessionToken string
}

// String keeps credentials out of logs.
func (c Credentials) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (c Credentials) GoString() string { return c.String() }

// Options of a Store.
type Options struct {
	// Guard permits the addresses at which storage may be.
	Guard netguard.Guard
}

const (
	// headerTime is how long the answer to a request may take to begin, and maxTries how often one is made.
	headerTime = 30 * time.Second
	maxTries   = 3
)

// Store reads the backups of one cluster. It is safe for concurrent use.
type Store struct {
	location Location
	client   *s3.Client
}

// Open returns a Store. It makes no request.
func Open(location Location, access Credentials, options Options) (*Store, error) {
	roots, err := rootsOf(location)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext: options.Guard.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: headerTime, TLSHandshakeTimeout: headerTime, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	client := s3.New(s3.Options{
		Region: location.Region, UsePathStyle: location.Endpoint != "", RetryMaxAttempts: maxTries,
		Credentials: credentials.NewStaticCredentialsProvider(access.AccessKeyID, access.SecretAccessKey, access.SessionToken),
		HTTPClient:  &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		// Many services do not know the newer checksums of Amazon's.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}, func(o *s3.Options) {
		if location.Endpoint != "" {
			o.BaseEndpoint = aws.String(location.Endpoint)
		}
	})
	return &Store{location: location, client: client}, nil
}

func rootsOf(location Location) (*x509.CertPool, error) {
	if location.CA == "" {
		return nil, nil //nolint:nilnil // What the system trusts.
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(location.CA)) {
		return nil, fmt.Errorf("the certificates for %s are no PEM: correct what the policy's spec.storage.caRef names", location.Endpoint)
	}
	return roots, nil
}

// NotFoundError tells that the bucket has no such object.
type NotFoundError struct{ Bucket, Key string }

// Error implements error.
func (e *NotFoundError) Error() string { return fmt.Sprintf("bucket %s has no %s", e.Bucket, e.Key) }

// IsNotFound is whether an error tells that the bucket has no such object.
func IsNotFound(err error) bool {
	var missing *NotFoundError
	return errors.As(err, &missing)
}

// key of an object below the prefix of the cluster.
func (s *Store) key(parts ...string) string {
	return path.Join(append([]string{s.location.Prefix}, parts...)...)
}

// get opens an object.
func (s *Store) get(ctx context.Context, key string) (io.ReadCloser, error) {
	answer, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.location.Bucket, Key: &key})
	if err != nil {
		return nil, s.explain(ctx, "read "+key, key, err)
	}
	return answer.Body, nil
}

// explain says what a failure means. What a service answers is not passed on: it may hold anything.
func (s *Store) explain(ctx context.Context, what, key string, err error) error {
	var refused *netguard.RefusedError
	var missing *types.NoSuchKey
	var answer smithy.APIError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s in bucket %s: %w", what, s.location.Bucket, ctx.Err())
	case errors.As(err, &refused):
		return fmt.Errorf("%s in bucket %s: %s has an address that is not on the Internet: use storage with a public address, or ask the provider to run Daytwo with private storage allowed",
			what, s.location.Bucket, refused.Host)
	case errors.As(err, &missing):
		return &NotFoundError{Bucket: s.location.Bucket, Key: key}
	case errors.As(err, &answer):
		return fmt.Errorf("%s in bucket %s: the storage answers %s: see whether the credentials permit that", what, s.location.Bucket, codeOf(answer))
	}
	return fmt.Errorf("%s in bucket %s: the storage does not answer as it should: %w", what, s.location.Bucket, rootOf(err))
}

// maxCode is how long the code of an answer may be that is told.
const maxCode = 64

// codeOf an answer, if it is one in the form of S3's.
func codeOf(answer smithy.APIError) string {
	code := answer.ErrorCode()
	if len(code) == 0 || len(code) > maxCode || len(validation.IsQualifiedName(code)) > 0 {
		return "with an error"
	}
	return code
}

// rootOf an error without the words around it, which have ids of requests that differ each time.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
