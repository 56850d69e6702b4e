package drdrill

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func waitingDrill(namespace, name, cluster string) backupv1alpha1.DRDrill {
	drill := backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}}
	drill.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: namespace, Name: cluster}
	return drill
}

func started(drill backupv1alpha1.DRDrill) backupv1alpha1.DRDrill {
	drill.Status.StartedAt = &metav1.Time{Time: noon}
	return drill
}

func finished(drill backupv1alpha1.DRDrill) backupv1alpha1.DRDrill {
	drill.Status.FinishedAt = &metav1.Time{Time: noon}
	return drill
}

func TestOneDrillRestoresIntoAClusterAtATime(t *testing.T) {
	first, second := waitingDrill("acme", "a", "prod"), waitingDrill("acme", "b", "prod")
	var q queue
	if waits := q.admit(&first, []backupv1alpha1.DRDrill{first, second}); waits != "" {
		t.Fatalf("the first waits: %s", waits)
	}
	for name, all := range map[string][]backupv1alpha1.DRDrill{
		"the cache does not show yet that the first started": {first, second}, "it does": {started(first), second},
	} {
		if waits := q.admit(&second, all); !strings.Contains(waits, "restores into TenantCluster acme/prod") {
			t.Errorf("%s: %q", name, waits)
		}
	}
	if waits := q.admit(&first, []backupv1alpha1.DRDrill{first, second}); waits != "" {
		t.Errorf("the first waits for itself: %s", waits)
	}
	if waits := q.admit(&second, []backupv1alpha1.DRDrill{finished(started(first)), second}); waits != "" {
		t.Errorf("it waits for a drill that has finished: %s", waits)
	}
}

func TestADrillThatIsGoneTakesNoPlace(t *testing.T) {
	first, second := waitingDrill("acme", "a", "prod"), waitingDrill("acme", "b", "prod")
	var q queue
	q.admit(&first, []backupv1alpha1.DRDrill{first, second})
	if waits := q.admit(&second, []backupv1alpha1.DRDrill{second}); waits != "" {
		t.Error(waits)
	}
}

func TestDrillsOfOneNamespaceLeaveRoomForOthers(t *testing.T) {
	var q queue
	var all []backupv1alpha1.DRDrill
	admitted := func(namespace string) (count int) {
		for i := range maxUnderWay {
			drill := waitingDrill(namespace, fmt.Sprint(i), fmt.Sprint(i))
			if all = append(all, drill); q.admit(&drill, all) == "" {
				count++
			}
		}
		return count
	}
	for i := range maxUnderWay / maxOfOne {
		if count := admitted(fmt.Sprint("customer-", i)); count != maxOfOne {
			t.Errorf("customer %d has %d drills under way", i, count)
		}
	}
	if count := admitted("late"); count != 0 {
		t.Errorf("%d drills more than at most are under way", count)
	}
}
