package bounded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// maxFailure bounds what is read of an answer that tells of an error, in bytes. API servers quote the value that
	// they refuse.
	maxFailure = 256 << 10
	// maxFailureText bounds what is kept of an error's message and of each of its causes, in bytes: statuses hold less.
	// Errors are kept as long as an object is refused.
	maxFailureText = 4 << 10
	// maxCauses bounds how many causes of an error are kept.
	maxCauses = 16
)

// shorten replaces an error by one that is no larger than what is told of it. One that is too large to be read is
// known by its code alone, and is not one of the API server's own for those who ask for that.
func shorten(name string, response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxFailure+1))
	_ = response.Body.Close() // Nothing more is read of it.
	if err != nil {
		return fmt.Errorf("%s: read the error: %w", name, err)
	}
	var status metav1.Status
	switch {
	case len(body) > maxFailure:
		status = unreadable(name, response.StatusCode)
	case json.Unmarshal(body, &status) != nil || status.Kind != "Status":
		response.Body = io.NopCloser(bytes.NewReader(body))
		return nil
	default:
		shortenStatus(&status)
	}
	if body, err = json.Marshal(status); err != nil {
		return fmt.Errorf("%s: shorten the error: %w", name, err)
	}
	response.Header.Set("Content-Type", "application/json")
	response.Header.Del("Content-Length")
	response.ContentLength, response.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
	return nil
}

// unreadable is an error that is too large.
func unreadable(name string, code int) metav1.Status {
	status := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, true).Status()
	status.Kind, status.APIVersion = "Status", "v1"
	status.Message = fmt.Sprintf("%s is answered %d, and the error is larger than %d KiB and is not read any further; "+
		"look at what answers at the cluster's address, and at its admission webhooks", name, code, maxFailure>>10)
	return status
}

func shortenStatus(status *metav1.Status) {
	status.Message = truncate.Cut(status.Message, maxFailureText)
	details := status.Details
	if details == nil {
		return
	}
	details.Causes = details.Causes[:min(len(details.Causes), maxCauses)]
	for i := range details.Causes {
		details.Causes[i].Message = truncate.Cut(details.Causes[i].Message, maxFailureText)
	}
}
