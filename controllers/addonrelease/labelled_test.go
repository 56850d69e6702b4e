package addonrelease

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// fromAChart is a manifest as `helm template` prints it.
const fromAChart = `
apiVersion: v1
kind: ConfigMap
metadata: {name: %s, labels: {app.kubernetes.io/managed-by: Helm}}
data: {key: value}
`

func TestManifestsThatWereMadeFromAChartAreOurs(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(fromAChart, "keep")+"---"+fmt.Sprintf(fromAChart, "drop"), func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.Drift.Mode = metav1alpha1.DriftReport
	})
	a.waitReady()
	// One that somebody changed is looked at again before it is removed.
	a.edit(a.configMap("drop"), "kubectl-edit", types.MergePatchType, `{"data":{"more":"1"}}`)
	a.waitFor(metav1alpha1.ConditionDrifted, metav1.ConditionTrue, metav1alpha1.ReasonReported)
	a.apply(fmt.Sprintf(fromAChart, "keep"))
	a.waitReady()
	a.waitGone(a.configMap("drop"))
}

func TestManifestsThatWereMadeFromAChartAreOursAgainAfterTheyWereOrphaned(t *testing.T) {
	t.Parallel()
	first := newAddon(t, fmt.Sprintf(fromAChart, "same")+"---"+fmt.Sprintf(fromAChart, "changed"), func(spec *addonsv1alpha1.AddonReleaseSpec) {
		spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan
	})
	first.waitReady()
	first.end()
	for _, name := range []string{"same", "changed"} {
		first.edit(first.configMap(name), "kubectl-edit", types.MergePatchType, `{"data":{"more":"1"}}`)
	}
	first.edit(first.configMap("changed"), "kubectl-edit", types.MergePatchType, `{"data":{"key":"another"}}`)
	first.start(first.revision(fmt.Sprintf(fromAChart, "same") + "---" + fmt.Sprintf(fromAChart, "changed")))
	first.waitReady()
	for _, name := range []string{"same", "changed"} {
		settings := first.configMap(name)
		if err := first.fetch(settings); err != nil || len(settings.Data) != 1 || settings.Data["key"] != "value" {
			t.Errorf("%s is not as declared: %v %v", name, settings.Data, err)
		}
	}
}

func TestWhatWasMadeFromAChartByOthersIsAConflict(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "first"))
	a.waitReady()
	for _, data := range []string{"other", "value"} { // A conflict of fields, and one that agrees by chance.
		theirs := a.configMap("chart-" + data)
		theirs.Data, theirs.Labels = map[string]string{"key": data}, map[string]string{"app.kubernetes.io/managed-by": "Helm"}
		a.create(theirs, "helm")
		a.apply(fmt.Sprintf(oneConfigMap, "first") + "---" + fmt.Sprintf(fromAChart, theirs.Name))
		release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
		if message := messageOf(release); !strings.Contains(message, "a Helm release") {
			t.Errorf("the message does not name the owner: %s", message)
		}
		a.apply(fmt.Sprintf(oneConfigMap, "first"))
		a.waitReady()
	}
}
