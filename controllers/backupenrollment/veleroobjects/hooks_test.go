package veleroobjects

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

func TestAHookIsInTheScheduleAsVeleroReadsIt(t *testing.T) {
	_, objects, _ := declared(t, backupv1alpha1.BackupTemplate{Hooks: &backupv1alpha1.BackupHooks{Resources: []backupv1alpha1.BackupResourceHooks{{
		Name: "flush", IncludedNamespaces: []string{"shop"},
		Pre: []backupv1alpha1.BackupHook{{Exec: backupv1alpha1.ExecHook{
			Container: "db", Command: []string{"/bin/flush"}, OnError: "Fail", Timeout: &metav1.Duration{Duration: time.Minute},
		}}},
	}}}})
	hooks, _, _ := unstructured.NestedMap(objects["Schedule"].Object, "spec", "template", "hooks")
	got, err := json.Marshal(hooks)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resources":[{"includedNamespaces":["shop"],"name":"flush","pre":[{"exec":{"command":["/bin/flush"],"container":"db","onError":"Fail","timeout":"1m0s"}}]}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
