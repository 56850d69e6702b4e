package helmclient

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	"helm.sh/helm/v4/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

// story is a release's history, as "chart version: status".
func (s *site) story() []string {
	s.Helper()
	history, err := s.History(s.name)
	s.must(err)
	var lines []string
	for _, revision := range history {
		lines = append(lines, revision.Chart.Metadata.Version+": "+revision.Info.Status.String())
	}
	return lines
}

func TestReleaseLivesAsWithTheHelmCommand(t *testing.T) {
	s := newSite(t, "life")
	installed, err := s.Install(t.Context(), s.name, s.archive("web", charts.FirstVersion), map[string]any{"replicas": 1})
	s.must(err)
	if installed.Info.Status != common.StatusDeployed || installed.ApplyMethod != "ssa" || installed.Version != 1 {
		t.Errorf("installed: %s by %s as revision %d", installed.Info.Status, installed.ApplyMethod, installed.Version)
	}
	upgraded, err := s.Upgrade(t.Context(), s.name, s.archive("web", charts.SecondVersion), nil)
	s.must(err)
	if upgraded.Config["replicas"] == nil || upgraded.Version != 2 {
		t.Errorf("upgraded without values: revision %d has %v, want those of before", upgraded.Version, upgraded.Config)
	}
	s.must(s.Rollback(t.Context(), s.name, 1))
	want := []string{"1.0.0: superseded", "1.1.0: superseded", "1.0.0: deployed"}
	if got := s.story(); !reflect.DeepEqual(got, want) {
		t.Errorf("history = %v, want %v", got, want)
	}
	if _, _, err := s.Uninstall(t.Context(), s.name); err != nil {
		t.Fatal(err)
	}
	if _, err := s.History(s.name); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("history of what is gone: %v", err)
	}
	if left := s.snapshot(); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestReadingShowsAReleaseAsItIs(t *testing.T) {
	s := newSite(t, "reading")
	s.install("web", map[string]any{"host": "reading.example.com"})
	s.upgrade("web", map[string]any{"host": "read.example.com"})

	status, err := s.Status(s.name, 0)
	s.must(err)
	if status.Version != 2 || len(status.Info.Resources) == 0 {
		t.Errorf("status is of revision %d with %d kinds of objects", status.Version, len(status.Info.Resources))
	}
	old, err := s.GetValues(s.name, 1)
	s.must(err)
	if want := map[string]any{"host": "reading.example.com"}; !reflect.DeepEqual(old, want) {
		t.Errorf("values of revision 1 = %v, want %v", old, want)
	}
	all, err := s.GetValues(s.name, 0, func(get *action.GetValues) { get.AllValues = true })
	s.must(err)
	if all["host"] != "read.example.com" || all["replicas"] == nil {
		t.Errorf("all values = %v", all)
	}
	manifest, err := s.GetManifest(s.name, 1)
	s.must(err)
	if !strings.Contains(manifest, "reading.example.com") || !strings.Contains(manifest, "acme-web-dashboard") {
		t.Errorf("manifest of revision 1 =\n%s", manifest)
	}
	listed, err := s.List(s.name.Namespace)
	s.must(err)
	if len(listed) != 1 || listed[0].Name != "acme" || listed[0].Version != 2 {
		t.Errorf("listed: %v", listed)
	}
	everywhere, err := s.List("", func(list *action.List) { list.AllNamespaces = true })
	s.must(err)
	if len(everywhere) < len(listed) {
		t.Errorf("listed everywhere: %v", everywhere)
	}
}

func TestMaxHistoryLimitsTheRevisions(t *testing.T) {
	s := newSiteWith(t, "history", cluster.Config(), Settings{MaxHistory: 2})
	s.install("umbrella", nil)
	for range 3 {
		s.upgrade("umbrella", nil)
	}
	if got, want := s.story(), []string{"1.1.0: superseded", "1.1.0: deployed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("history = %v, want %v", got, want)
	}
}

func TestFieldsBelongToHelm(t *testing.T) {
	s := newSite(t, "manager")
	s.install("web", nil)
	settings, err := s.admin.CoreV1().ConfigMaps(s.name.Namespace).Get(t.Context(), "acme-web-settings", metav1.GetOptions{})
	s.must(err)
	for _, entry := range settings.ManagedFields {
		if entry.Manager == "helm" && entry.Operation == metav1.ManagedFieldsOperationApply {
			return
		}
	}
	t.Errorf("managed by %v", settings.ManagedFields)
}

func TestErrorsNameTheRelease(t *testing.T) {
	s := newSite(t, "errors")
	_, err := s.Upgrade(t.Context(), s.name, s.archive("web", charts.FirstVersion), nil)
	if err == nil || !strings.Contains(err.Error(), s.name.String()) {
		t.Errorf("upgrade of nothing: %v", err)
	}
	if err := s.Rollback(t.Context(), s.name, 1); err == nil || !strings.Contains(err.Error(), s.name.String()) {
		t.Errorf("rollback of nothing: %v", err)
	}
	if _, _, err := s.Uninstall(t.Context(), s.name); err == nil || !strings.Contains(err.Error(), s.name.String()) {
		t.Errorf("uninstallation of nothing: %v", err)
	}
	if _, err := s.Install(t.Context(), s.name, []byte("no archive"), nil); err == nil || !strings.Contains(err.Error(), "load the chart") {
		t.Errorf("installation of nothing: %v", err)
	}
	_, err = s.Install(t.Context(), s.name, s.archive("database", charts.FirstVersion), nil)
	if err == nil || !strings.Contains(err.Error(), "set password") {
		t.Errorf("installation without a value that is required: %v", err)
	}
}

func TestValuesStayTheCallers(t *testing.T) {
	s := newSite(t, "values")
	given := map[string]any{"tags": map[string]any{"storage": false}}
	s.install("umbrella", given)
	if want := map[string]any{"tags": map[string]any{"storage": false}}; !reflect.DeepEqual(given, want) {
		t.Errorf("the caller's values became %v", given)
	}
}
