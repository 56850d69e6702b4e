package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// IdentityPath is read to learn a cluster's identity: the UID of its namespace kube-system, which
// every cluster has and which lives as long as the cluster does.
const IdentityPath = "/api/v1/namespaces/" + metav1.NamespaceSystem

// maxAnswer bounds what is read of an answer in bytes.
const maxAnswer = 1 << 20

// maxVersion bounds a version in bytes; real ones have less than 40.
const maxVersion = 128

// ErrOtherCluster tells that a connection led to another cluster than the one that is expected there.
var ErrOtherCluster = errors.New("the address leads to another cluster than before")

// errOtherVersion: the API server was upgraded, and may serve other kinds now.
var errOtherVersion = errors.New("the API server has another version than before")

// IsNews tells that the cluster answers, and what is known of it must be learned anew.
func IsNews(err error) bool {
	return errors.Is(err, ErrOtherCluster) || errors.Is(err, errOtherVersion)
}

// UnauthorizedError tells that the cluster answers, and refuses the credentials.
type UnauthorizedError struct{ message string }

func (e *UnauthorizedError) Error() string { return e.message }

// ReadIdentity asks for the cluster's identity by way of the given round tripper.
func ReadIdentity(ctx context.Context, server string, through http.RoundTripper) (types.UID, error) {
	var namespace metav1.PartialObjectMetadata
	if err := getJSON(ctx, server+IdentityPath, through, &namespace); err != nil {
		return "", err
	}
	// The identity becomes a label, and whoever answers here may be anybody.
	if namespace.UID == "" || len(validation.IsValidLabelValue(string(namespace.UID))) > 0 {
		return "", bounded.AnswerError("GET " + IdentityPath + ": the answer is no namespace; is this a Kubernetes API server?")
	}
	return namespace.UID, nil
}

// ReadVersion asks for the version of the API server, as in "v1.36.3".
func ReadVersion(ctx context.Context, server string, through http.RoundTripper) (string, error) {
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := getJSON(ctx, server+"/version", through, &version); err != nil {
		return "", err
	}
	if len(version.GitVersion) > maxVersion {
		return "", bounded.AnswerError("GET /version: the answer is no version; is this a Kubernetes API server?")
	}
	return version.GitVersion, nil
}

// rightTo is what a request needs, in the words of RBAC. What a server says of that is left out: it may quote the credentials.
func rightTo(path string) string {
	if path == IdentityPath {
		return `get namespaces "kube-system"`
	}
	return "get the non-resource URL " + path
}

func getJSON(ctx context.Context, url string, through http.RoundTripper, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := through.RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // Nothing more is read of it.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized:
		return &UnauthorizedError{fmt.Sprintf("GET %s answers 401 Unauthorized: the API server does not accept the credentials", request.URL.Path)}
	case http.StatusForbidden:
		return &UnauthorizedError{fmt.Sprintf("GET %s answers 403 Forbidden: the credentials lack the right to %s; bind their user to a ClusterRole that grants it",
			request.URL.Path, rightTo(request.URL.Path))}
	default:
		return refusal(request, response, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return bounded.AnswerError("GET " + request.URL.Path + ": the answer is not JSON; is this a Kubernetes API server?")
	}
	return nil
}

// refusal tells the code of an API server's error, and of anything else only that it is none.
func refusal(request *http.Request, response *http.Response, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		return bounded.AnswerError("GET " + request.URL.Path + ": the answer is an error, and none of an API server; is this a Kubernetes API server?")
	}
	return bounded.AnswerError("GET " + request.URL.Path + " answers " + codeOf(response))
}

// codeOf leaves out the words that a server may put behind its code.
func codeOf(response *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode)))
}
