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

// ask for a place, where every cluster is enrolled.
func ask(q *queue, drill *backupv1alpha1.DRDrill, all ...backupv1alpha1.DRDrill) string {
	waits, _ := q.admit(drill, all, enrolled)
	return waits
}

func enrolled(*backupv1alpha1.DRDrill) bool { return true }

func forReal(drill backupv1alpha1.DRDrill) backupv1alpha1.DRDrill {
	drill.Spec.Mode = backupv1alpha1.ModeRecover
	return drill
}

func TestOneDrillRestoresIntoAClusterAtATime(t *testing.T) {
	first, second := waitingDrill("acme", "a", "prod"), waitingDrill("acme", "b", "prod")
	var q queue
	if waits := ask(&q, &first, first, second); waits != "" {
		t.Fatalf("the first waits: %s", waits)
	}
	// The cache does not show at once that the first has started.
	for _, shown := range []backupv1alpha1.DRDrill{first, started(first)} {
		if waits := ask(&q, &second, shown, second); !strings.Contains(waits, "restores into TenantCluster acme/prod") {
			t.Errorf("the first has started at %v: %q", shown.Status.StartedAt, waits)
		}
	}
	if waits := ask(&q, &first, started(first), second); waits != "" {
		t.Errorf("the first waits for itself: %s", waits)
	}
	if waits := ask(&q, &second, finished(started(first)), second); waits != "" {
		t.Errorf("it waits for a drill that has finished: %s", waits)
	}
}

func TestADrillThatIsGoneTakesNoPlace(t *testing.T) {
	first, second := waitingDrill("acme", "a", "prod"), waitingDrill("acme", "b", "prod")
	var q queue
	ask(&q, &first, first, second)
	if waits := ask(&q, &second, second); waits != "" {
		t.Error(waits)
	}
}

func TestDrillsOfOneNamespaceLeaveRoomForOthers(t *testing.T) {
	var q queue
	var all []backupv1alpha1.DRDrill
	admitted := func(namespace string) (count int) {
		for i := range maxUnderWay {
			drill := waitingDrill(namespace, fmt.Sprint(i), fmt.Sprint(i))
			if all = append(all, drill); ask(&q, &drill, all...) == "" {
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

func TestRehearsalsMakeWayForARecovery(t *testing.T) {
	rehearsal, other := started(waitingDrill("acme", "a", "prod")), started(waitingDrill("acme", "b", "stage"))
	first, second := forReal(waitingDrill("acme", "c", "prod")), forReal(waitingDrill("acme", "d", "prod"))
	late := waitingDrill("acme", "e", "prod")
	var q queue
	waits, cancelled := q.admit(&first, []backupv1alpha1.DRDrill{rehearsal, other, first, late}, enrolled)
	if !strings.Contains(waits, "waits for DRDrill acme/a") || len(cancelled) != 1 || cancelled[0].Name != "a" {
		t.Errorf("%q, cancelled %v", waits, cancelled)
	}
	if waits := ask(&q, &late, finished(rehearsal), first, late); !strings.Contains(waits, "DRDrill acme/c") {
		t.Errorf("a rehearsal starts before a recovery that waits: %q", waits)
	}
	if waits := ask(&q, &first, finished(rehearsal), first, late); waits != "" {
		t.Errorf("the recovery waits for a rehearsal that waits: %s", waits)
	}
	waits, cancelled = q.admit(&second, []backupv1alpha1.DRDrill{started(first), second}, enrolled)
	if waits == "" || len(cancelled) > 0 {
		t.Errorf("a recovery makes way for another one: %q, %v", waits, cancelled)
	}
}

func TestARecoveryStartsHoweverManyRehearsalsAreUnderWay(t *testing.T) {
	var all []backupv1alpha1.DRDrill
	for i := range maxUnderWay {
		all = append(all, started(waitingDrill("acme", fmt.Sprint(i), fmt.Sprint(i))))
	}
	recovery := forReal(waitingDrill("acme", "real", "prod"))
	if waits := ask(new(queue), &recovery, append(all, recovery)...); waits != "" {
		t.Error(waits)
	}
}

func TestWhoIsNotEnrolledHoldsUpNobody(t *testing.T) {
	own, foreign := waitingDrill("acme", "a", "prod"), forReal(waitingDrill("evil", "b", "prod"))
	foreign.Spec.ClusterRef.Namespace = "acme"
	isEnrolled := func(drill *backupv1alpha1.DRDrill) bool { return drill.Namespace == "acme" }
	var q queue
	if waits, cancelled := q.admit(&foreign, []backupv1alpha1.DRDrill{started(own), foreign}, isEnrolled); waits != "" || len(cancelled) > 0 {
		t.Errorf("it cancels %v, and %q", cancelled, waits)
	}
	for name, one := range map[string]backupv1alpha1.DRDrill{"waits": foreign, "has started": started(foreign)} {
		if waits, _ := q.admit(&own, []backupv1alpha1.DRDrill{own, one}, isEnrolled); waits != "" {
			t.Errorf("a foreign recovery that %s: %s", name, waits)
		}
	}
}
