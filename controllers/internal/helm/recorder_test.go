package helm

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
)

var hookOfShop = HookID{Path: "web/templates/migrate.yaml", Kind: "Job", Name: "migrate"}

// recorderOf goes on with what a cluster has of the release, for other inputs.
func recorderOf(t *testing.T, client *fake.Clientset, inputs string, now time.Time) *Recorder {
	t.Helper()
	list, err := client.CoreV1().Secrets(shop.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: shop.Selector()})
	if err != nil {
		t.Fatal(err)
	}
	var secrets []metav1.PartialObjectMetadata
	for _, one := range list.Items {
		secrets = append(secrets, metav1.PartialObjectMetadata{ObjectMeta: one.ObjectMeta})
	}
	rendered := newRecord(0)
	rendered.Hooks = []*release.Hook{{Path: hookOfShop.Path, Kind: hookOfShop.Kind, Name: hookOfShop.Name}}
	text, err := json.Marshal(rendered)
	if err != nil {
		t.Fatal(err)
	}
	return &Recorder{Store: newStore(t, client, nil), History: NewHistory(shop, secrets), Inputs: inputs, Rendered: text, Now: now}
}

// deploy writes that the inputs are being deployed, and then that they are.
func deploy(t *testing.T, r *Recorder, course Course) *release.Release {
	t.Helper()
	for _, status := range []common.Status{common.StatusPendingUpgrade, common.StatusDeployed} {
		course.Status = status
		draft, err := r.Draft(course)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Write(draft); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.SettleOthers(); err != nil {
		t.Fatal(err)
	}
	record, err := r.Read(r.History.Latest().Version)
	if err != nil || record == nil {
		t.Fatalf("the record cannot be read: %v", err)
	}
	return record
}

func TestARecordTellsTheCourseOfItsOperation(t *testing.T) {
	client := fake.NewClientset()
	first := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ran := Run{Hook: hookOfShop, HookExecution: release.HookExecution{StartedAt: first, Phase: release.HookPhaseSucceeded}}

	one := deploy(t, recorderOf(t, client, "aa", first), Course{Description: "Install complete", Runs: []Run{ran}})
	if one.Version != 1 || one.Info.Status != common.StatusDeployed || one.Info.Description != "Install complete" || one.Hooks[0].LastRun.Phase != release.HookPhaseSucceeded {
		t.Errorf("the first record is %+v with %+v", one.Info, one.Hooks[0].LastRun)
	}
	two := deploy(t, recorderOf(t, client, "bb", first.Add(time.Hour)), Course{})
	if two.Version != 2 || !two.Info.FirstDeployed.Equal(first) || !two.Info.LastDeployed.Equal(first.Add(time.Hour)) || !two.Hooks[0].LastRun.StartedAt.IsZero() {
		t.Errorf("the second record is %+v with %+v", two.Info, two.Hooks[0].LastRun)
	}
	back := deploy(t, recorderOf(t, client, "aa", first.Add(2*time.Hour)), Course{RollbackTo: 1})
	if back.Version != 3 || !back.Hooks[0].LastRun.StartedAt.Equal(first) {
		t.Errorf("a rollback does not know how the hooks ran to which it goes back: version %d, %+v", back.Version, back.Hooks[0].LastRun)
	}

	r := recorderOf(t, client, "aa", first)
	var told []common.Status
	for _, entry := range r.History {
		told = append(told, entry.Status)
	}
	if want := []common.Status{common.StatusDeployed, common.StatusSuperseded, common.StatusSuperseded}; !slices.Equal(told, want) {
		t.Errorf("the records say %v, want %v", told, want)
	}
	if declared, err := r.Objects(r.History[:1]); err != nil || len(declared) != 1 || declared[0].Name != "a" {
		t.Errorf("the record declares %v (%v)", declared, err)
	}
	if err := r.Purge(); err != nil {
		t.Fatal(err)
	}
	if left := recorderOf(t, client, "aa", first).History; len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
