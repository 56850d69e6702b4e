package backupenrollment

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
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

func TestHooksOfAnOldRevisionNeedTheFlagToo(t *testing.T) {
	hooked := backupv1alpha1.BackupTemplate{Hooks: &backupv1alpha1.BackupHooks{}}
	var verdict *target.Verdict
	if err := (&Reconciler{}).checkHooks(hooked); !errors.As(err, &verdict) || !verdict.Stalled || verdict.Reason != backupv1alpha1.ReasonHooksNotAllowed {
		t.Errorf("got %v", err)
	}
	if err := (&Reconciler{AllowBackupHooks: true}).checkHooks(hooked); err != nil {
		t.Error(err)
	}
	if err := (&Reconciler{}).checkHooks(rich()); err != nil {
		t.Error(err)
	}
}
