package drdrill

import (
	"fmt"
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/recovery"
)

// lostCluster is the recovery of one.
func lostCluster() *backupv1alpha1.DRDrill {
	drill := rehearsal(backupv1alpha1.DrillStandby, 1)
	drill.Spec.Mode = backupv1alpha1.ModeRecover
	drill.Spec.Namespaces.Sample = ptr.To[int32](16)
	drill.Status.Actions = []metav1alpha1.Action{{Name: actionRestore, Object: "velero.io/v1/Restore/velero/rescue"}}
	return drill
}

func archivedNamespaces(count int) map[string]map[schema.GroupResource]bool {
	archived := map[string]map[schema.GroupResource]bool{"kube-system": {}, "kube-public": {}, "kube-node-lease": {}}
	for i := range count {
		archived[fmt.Sprintf("team-%03d", i)] = map[schema.GroupResource]bool{}
	}
	return archived
}

func TestARecoveryRestoresAllNamespacesButThoseOfTheClusterItself(t *testing.T) {
	drill := lostCluster()
	chosen, err := chooseNamespaces(drill, archivedNamespaces(maxRecovered))
	if err != nil || len(chosen) != maxRecovered || chosen[0].RestoredAs != "team-000" {
		t.Errorf("%d namespaces, %v", len(chosen), err)
	}
	if _, err := chooseNamespaces(drill, archivedNamespaces(maxRecovered+1)); err == nil || !strings.Contains(err.Error(), "spec.namespaces.include of several") {
		t.Errorf("too many: %v", err)
	}
	drill.Spec.Namespaces.Include = []string{"kube-system"}
	if chosen, err := chooseNamespaces(drill, archivedNamespaces(1)); err != nil || len(chosen) != 1 || chosen[0].Name != "kube-system" {
		t.Errorf("asked for: %v, %v", chosen, err)
	}
}

func TestARecoveryHasNoSandbox(t *testing.T) {
	drill := lostCluster()
	if names := strings.Join(preparations(drill), " "); names != "credentials location backup modifiers" {
		t.Errorf("it prepares %s", names)
	}
	for _, test := range []struct {
		include []string
		want    any
	}{{nil, true}, {[]string{"shop"}, nil}} {
		drill.Spec.Namespaces.Include = test.include
		spec := restoreObject(drill).Object["spec"].(map[string]any)
		if got := spec["includeClusterResources"]; got != test.want || len(spec["excludedResources"].([]any)) > 1 {
			t.Errorf("with %v: includeClusterResources %v, excluded %v", test.include, got, spec["excludedResources"])
		}
	}
	if got := leftOut([]schema.GroupResource{{Group: "networking.k8s.io", Resource: "ingresses"}, {Group: "cert-manager.io", Resource: "issuers"}}, exposed(drill)); len(got) > 0 {
		t.Errorf("it leaves out %v", got)
	}
}

func TestOnlyARecoveryTakesABackupThatIsNotAGoodOne(t *testing.T) {
	bucket := []backupstore.Backup{made("partial", velerov1.BackupPhasePartiallyFailed, 1, 5), made("failed", velerov1.BackupPhaseFailed, 2, 5)}
	standard := backupv1alpha1.BackupEnrollmentSpec{MinItems: ptr.To[int32](10)}
	for _, test := range []struct {
		drill  *backupv1alpha1.DRDrill
		name   string
		usable bool
	}{
		{lostCluster(), "partial", true}, {lostCluster(), "failed", false}, {rehearsal(backupv1alpha1.DrillStandby, 0), "partial", false},
	} {
		test.drill.Spec.Backup = backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: test.name}
		if _, err := chooseBackup(test.drill, bucket, standard, noon); (err == nil) != test.usable {
			t.Errorf("%s with mode %q: %v", test.name, test.drill.Spec.Mode, err)
		}
	}
}

func clusterRole(name string, labels map[string]string, verb string) *unstructured.Unstructured {
	role := newObject(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, "", name, map[string]any{
		"rules": []any{map[string]any{"verbs": []any{verb}}},
	})
	role.SetLabels(labels)
	return role
}

func TestWhatWasThereBeforeARecoveryIsToldAndNotHeldAgainstIt(t *testing.T) {
	item := recovery.Item{Resource: schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, Name: "reader"}
	restoredBy := map[string]string{velerov1.RestoreNameLabel: "rescue"}
	for name, test := range map[string]struct {
		found  *unstructured.Unstructured
		result backupv1alpha1.CheckResult
		word   string
	}{
		"restored as it was":         {clusterRole("reader", restoredBy, "get"), backupv1alpha1.CheckPassed, "1 object "},
		"restored otherwise":         {clusterRole("reader", restoredBy, "list"), backupv1alpha1.CheckFailed, "clusterroles.rbac.authorization.k8s.io reader"},
		"there already, and equal":   {clusterRole("reader", nil, "get"), backupv1alpha1.CheckPassed, "1 object "},
		"there already, and another": {clusterRole("reader", nil, "list"), backupv1alpha1.CheckNotChecked, "in the cluster already"},
	} {
		c := newComparison(lostCluster())
		if err := c.expect(item, clusterRole("reader", nil, "get")); err != nil || len(c.expected) != 1 {
			t.Fatalf("it is not expected: %v", err)
		}
		c.missing = map[recovery.Item]string{item: c.expected[item]}
		c.compare(item, test.found)
		if got := c.digestsCheck(1); got.Result != test.result || !strings.Contains(got.Message, test.word) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatEveryClusterHasByItselfIsNotExpectedOfARecovery(t *testing.T) {
	c := newComparison(lostCluster())
	c.mapping["shop"] = "shop"
	for _, one := range []struct {
		group, resource, name string
		labels                map[string]string
		expected              bool
	}{
		{"rbac.authorization.k8s.io", "clusterroles", "view", map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "backups.velero.io", nil, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "shops.example.com", nil, true},
		{"scheduling.k8s.io", "priorityclasses", "system-node-critical", nil, false},
		{"", "persistentvolumes", "pv-1", nil, false},
		{"", "nodes", "node-1", nil, false},
		{"", "namespaces", "shop", nil, true},
		{"", "namespaces", "kube-system", nil, false},
	} {
		object := newObject(schema.GroupVersionKind{Version: "v1", Kind: "Any"}, "", one.name, nil)
		object.SetLabels(one.labels)
		item := recovery.Item{Resource: schema.GroupResource{Group: one.group, Resource: one.resource}, Name: one.name}
		if _, expected := c.restoredAs(item, object); expected != one.expected {
			t.Errorf("%s %s: expected %t", one.resource, one.name, expected)
		}
	}
	rehearsal := newComparison(rehearsal(backupv1alpha1.DrillStandby, 1))
	if _, expected := rehearsal.restoredAs(recovery.Item{Resource: schema.GroupResource{Resource: "namespaces"}, Name: "shop"}, newObject(namespaceKind, "", "shop", nil)); expected {
		t.Error("a rehearsal expects an object without a namespace")
	}
}
