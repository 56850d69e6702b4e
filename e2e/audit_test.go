package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// auditPolicy makes an API server tell of every request but watches, when it has answered.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [watch]}
- {level: Metadata}
`

// auditArgs are the flags with which the API server of a cluster keeps a log of its requests.
func auditArgs(cluster string) ([]string, error) {
	policy := filepath.Join(env.Fleet.StateDir(), "audit.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + auditLog(cluster)}, nil
}

func auditLog(cluster string) string {
	return filepath.Join(env.Fleet.StateDir(), "logs", cluster+".audit.log")
}

// request is what the API server of a bare cluster tells of a request.
type request struct {
	Verb, RequestURI, UserAgent string
	ResponseStatus              struct{ Code int }
	RequestReceivedTimestamp    time.Time
}

// requestsOfManager are those with a word in their address, in the order in which they were answered.
func requestsOfManager(t testing.TB, cluster, word string) []request {
	t.Helper()
	file, err := os.Open(auditLog(cluster))
	must(t, err)
	defer func() { _ = file.Close() }() // It was only read.
	var found []request
	for lines := json.NewDecoder(bufio.NewReader(file)); lines.More(); {
		var one request
		if lines.Decode(&one) != nil {
			break // The last line is being written.
		}
		if one.UserAgent == metav1alpha1.FieldManager && strings.Contains(one.RequestURI, word) {
			found = append(found, one)
		}
	}
	return found
}
