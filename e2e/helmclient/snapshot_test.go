package helmclient

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// removeDefinitions removes them after the test, since those in crds/ stay when a release goes.
func (s *site) removeDefinitions(names ...string) {
	s.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	s.must(err)
	s.Cleanup(func() {
		for _, name := range names {
			s.eventually(name+" is gone", func(ctx context.Context) (bool, error) {
				err := client.Resource(definitions).Delete(ctx, name, metav1.DeleteOptions{})
				return apierrors.IsNotFound(err), unlessNotFound(err)
			})
		}
	})
}

// settled waits until Kubernetes has made of a release what it makes of it.
func (s *site) settled(deployment string) {
	s.Helper()
	s.eventually(deployment+" is available", func(ctx context.Context) (bool, error) {
		got, err := s.admin.AppsV1().Deployments(s.name.Namespace).Get(ctx, deployment, metav1.GetOptions{})
		return err == nil && got.Status.ReadyReplicas == *got.Spec.Replicas, unlessNotFound(err)
	})
}

func unlessNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func TestSnapshotHoldsWhatAReleaseLeft(t *testing.T) {
	s := newSite(t, "contents")
	s.install("web", nil)
	s.settled("acme-web")
	view := s.snapshot()
	if len(view) != 16 {
		t.Errorf("there are %d objects, want the chart's 15 and the record: %v", len(view), slices.Sorted(maps.Keys(view)))
	}
	recordID := s.id("v1", "Secret", "sh.helm.release.v1.acme.v1")
	for _, id := range []string{
		s.id("apps/v1", "Deployment", "acme-web"), s.id("v1", "Secret", "acme-web-session"),
		s.id("networking.k8s.io/v1", "Ingress", "acme-web"), recordID,
	} {
		if _, there := view[id]; !there {
			t.Errorf("there is no %s", id)
		}
	}
	record := view[recordID].Record
	if record == nil || record.ApplyMethod != "ssa" || record.Times["info.last_deployed"] == "" {
		t.Fatalf("the record is %+v", record)
	}
	templates := record.Release["chart"].(map[string]any)["templates"].(map[string]any)
	if text, _ := templates["templates/rbac.yaml"].(string); !strings.Contains(text, "kind: RoleBinding") {
		t.Errorf("the chart's templates cannot be read: %v", templates)
	}
}

func TestTwoRunsOfTheSameLeaveTheSame(t *testing.T) {
	s := newSite(t, "twice")
	live := func() View {
		s.install("web", nil)
		s.upgrade("web", map[string]any{"replicas": 3})
		s.settled("acme-web")
		view := s.snapshot()
		_, _, err := s.Uninstall(t.Context(), s.name)
		s.must(err)
		s.eventually("all of it is gone", func(context.Context) (bool, error) { return len(s.snapshot()) == 0, nil })
		return view
	}
	if difference := live().Diff(live()); difference != "" {
		t.Errorf("the second run differs:\n%s", difference)
	}
}

func TestApplyMethodsDifferInNothingElse(t *testing.T) {
	s := newSite(t, "methods")
	live := func(serverSide bool) View {
		_, err := s.Install(t.Context(), s.name, s.archive("web", charts.FirstVersion), nil, func(install *action.Install) {
			install.ServerSideApply = serverSide
		})
		s.must(err)
		view := s.snapshot()
		_, _, err = s.Uninstall(t.Context(), s.name)
		s.must(err)
		return view
	}
	server, client := live(true), live(false)
	if difference := server.Diff(client); !strings.Contains(difference, `"ApplyMethod": "csa"`) {
		t.Errorf("the method does not show:\n%s", difference)
	}
	drop := func(record *Record) { record.ApplyMethod = "" }
	if difference := server.Without(drop).Diff(client.Without(drop)); difference != "" {
		t.Errorf("they differ in more than the method:\n%s", difference)
	}
}

func TestSnapshotFindsWhatIsOutsideOfNamespaces(t *testing.T) {
	s := newSite(t, "outside")
	s.removeDefinitions("sites.hosting.example.com")
	s.install("crds", map[string]any{"plans": map[string]any{"group": "outside.example.com"}})
	const (
		inCRDs, inTemplates = "sites.hosting.example.com", "plans.outside.example.com"
		prefix              = "apiextensions.k8s.io/v1/CustomResourceDefinition//"
	)
	view := s.snapshot(inCRDs)
	for _, id := range []string{prefix + inCRDs, prefix + inTemplates, s.id("hosting.example.com/v1", "Site", "acme")} {
		if _, there := view[id]; !there {
			t.Errorf("there is no %s, but %v", id, slices.Sorted(maps.Keys(view)))
		}
	}
	if _, there := s.snapshot()[prefix+inCRDs]; there {
		t.Error("a definition counts that nobody named and no release owns")
	}
	s.upgrade("crds", nil)
	if difference := view.Diff(s.snapshot(inCRDs)); strings.Contains(difference, prefix+inCRDs) {
		t.Errorf("helm upgrade touches what is in crds/:\n%s", difference)
	}
	_, _, err := s.Uninstall(t.Context(), s.name)
	s.must(err)
}

func TestSnapshotKeepsWhatOutlivesARelease(t *testing.T) {
	s := newSite(t, "kept")
	s.install("database", map[string]any{"password": "hunter2", "replicas": 0})
	_, kept, err := s.Uninstall(t.Context(), s.name)
	s.must(err)
	if !strings.Contains(kept, "[PersistentVolumeClaim] acme-database-backups") {
		t.Errorf("helm says %q about what it kept", kept)
	}
	claim := s.id("v1", "PersistentVolumeClaim", "acme-database-backups")
	s.eventually("only the claim is left", func(context.Context) (bool, error) {
		left := s.snapshot()
		_, there := left[claim]
		return there && len(left) == 1, nil
	})
}
