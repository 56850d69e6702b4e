package addonrelease

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	localAPI = `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100}
`
	aggregatedAPI = localAPI + `---
apiVersion: v1
kind: Service
metadata: {name: metrics}
spec: {ports: [{port: 443}]}
`
)

// TestAnAPIServiceThatIsNotAvailableIsNotReady is not parallel: as long as the API has no server, discovery of the
// shared cluster has a group that fails.
func TestAnAPIServiceThatIsNotAvailableIsNotReady(t *testing.T) {
	a := declareAddon(t, "")
	served := strings.Replace(aggregatedAPI, "spec: {", "spec: {insecureSkipTLSVerify: true, service: {namespace: "+a.namespace+", name: metrics}, ", 1)
	a.start(a.revision(served))
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonProgressing)
	eventually(t, "the condition is told", func() (bool, string) {
		message := messageOf(a.get())
		return strings.Contains(message, "APIService v1.metrics.example.com: condition Available is False"), message
	})
	a.apply(localAPI)
	a.waitReady()
}
