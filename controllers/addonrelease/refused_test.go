package addonrelease

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func TestObjectThatIsRefusedHoldsUpNoCorrectionOfOthers(t *testing.T) {
	t.Parallel()
	a := newAddon(t, fmt.Sprintf(oneConfigMap, "settings")+`
---
apiVersion: v1
kind: Service
metadata: {name: refused}
spec: {ports: [{port: 70000}]}
`)
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionFalse, metav1alpha1.ReasonRefused)
	settings := a.configMap("settings")
	settings.Data = map[string]string{"key": "changed"}
	if err := shared.workload.Update(t.Context(), settings, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "drift is corrected", func() (bool, string) {
		found := &corev1.ConfigMap{}
		err := shared.workload.Get(t.Context(), client.ObjectKeyFromObject(settings), found)
		return found.Data["key"] == "value", fmt.Sprint(found.Data, err)
	})
}
