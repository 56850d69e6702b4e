package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// webObjectsOfChart is how many objects the chart web has, beside the namespace.
const webObjectsOfChart = 15

func (l *chartLife) takesBackAnEdit(cluster string) {
	l.Helper()
	l.takesBack(cluster, "an edit by hand", l.ofDeployment("kubectl-edit", "Update"), func() {
		edit(l, l.workload(cluster), l.deployment(cluster), func(d *appsv1.Deployment) {
			d.Spec.Replicas = ptr.To[int32](7)
			d.Spec.Template.Spec.Containers[0].Image = "docker.io/library/busybox"
		})
	})
	l.expectHelmToSee(cluster, 2, 3)
}

// takesBackWhatHelmDoes lets a person upgrade, roll back and uninstall what is not theirs.
func (l *chartLife) takesBackWhatHelmDoes(cluster string) {
	l.Helper()
	helm := helmOf(l, cluster)
	l.takesBack(cluster, "helm upgrade", l.ofDeployment("helm", "Update"), func() {
		_, err := helm.Upgrade(l.Context(), l.name, chartArchive(l, "web", charts.SecondVersion), map[string]any{"replicas": 5})
		must(l, err)
	})
	l.expectHelmToSee(cluster, 4, 3)
	l.takesBack(cluster, "helm rollback", l.ofDeployment("helm", "Update"), func() {
		must(l, helm.Rollback(l.Context(), l.name, 1))
	})
	l.expectHelmToSee(cluster, 6, 3)
	// More than ten objects are deleted, and only the latest ten are told; the record is among them.
	record := metav1alpha1.DriftCorrection{
		Object: fmt.Sprintf("v1/Secret/%s/sh.helm.release.v1.%s.v", l.name.Namespace, l.name.Name), Operation: "Delete",
	}
	l.takesBack(cluster, "helm uninstall", record, func() {
		_, _, err := helm.Uninstall(l.Context(), l.name)
		must(l, err)
	})
	l.expectHelmToSee(cluster, 1, 3)
}

// ofDeployment is how a change of the release's Deployment is told.
func (l *chartLife) ofDeployment(manager, operation string) metav1alpha1.DriftCorrection {
	object := fmt.Sprintf("apps/v1/Deployment/%s/%s-web", l.name.Namespace, l.name.Name)
	return metav1alpha1.DriftCorrection{Object: object, Manager: manager, Operation: operation}
}

// takesBack waits until the objects are as they were before somebody did something, the release is ready
// and its record deployed, and what was done is told.
func (l *chartLife) takesBack(cluster, what string, told metav1alpha1.DriftCorrection, do func()) {
	l.Helper()
	want, start := l.objects(cluster), time.Now()
	if len(want) < webObjectsOfChart {
		l.Fatalf("there are %d objects of the release in %s: %v", len(want), cluster, slices.Sorted(maps.Keys(want)))
	}
	do()
	expect.Eventually(l, what+" is taken back in "+cluster, func(ctx context.Context) error {
		if others := differing(l.objects(cluster), want); len(others) > 0 {
			return fmt.Errorf("not as declared: %v", others)
		}
		release, err := l.findRelease(ctx, l.addon, cluster)
		if err != nil {
			return err
		}
		return errors.Join(
			tells(release, start, told), expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionTrue, ""), l.deployed(cluster))
	})
}

// objects are what of the release is in a cluster, without its record.
func (l *chartLife) objects(cluster string) map[string]string {
	l.Helper()
	all := contents(l, cluster)
	maps.DeleteFunc(all, func(id, _ string) bool { return strings.Contains(id, "/sh.helm.release.v1.") })
	return all
}

// deployed complains unless Helm's latest record is one of Daytwo's that is deployed.
func (l *chartLife) deployed(cluster string) error {
	status, err := helmOf(l, cluster).Status(l.name, 0)
	if err != nil {
		return err
	}
	if status.Info.Status != "deployed" || status.Labels[metav1alpha1.LabelManagedBy] == "" {
		return fmt.Errorf("helm status: version %d, %s, with labels %v", status.Version, status.Info.Status, status.Labels)
	}
	return nil
}

// tells complains unless a correction of that sort is told since a moment. The object's id may be cut.
func tells(release *addonsv1alpha1.AddonRelease, since time.Time, want metav1alpha1.DriftCorrection) error {
	for _, told := range release.Status.Drift.Corrections {
		if strings.HasPrefix(told.Object, want.Object) && told.Manager == want.Manager && told.Operation == want.Operation && told.Corrected.After(since) {
			return nil
		}
	}
	return fmt.Errorf("it is not told that %s saw %s by %q, but: %+v", want.Object, want.Operation, want.Manager, release.Status.Drift.Corrections)
}
