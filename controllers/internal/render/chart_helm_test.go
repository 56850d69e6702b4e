package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	kubefake "helm.sh/helm/v4/pkg/kube/fake"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
)

// helmInstalls returns what action.Install makes of a request.
func helmInstalls(t testing.TB, request ChartRequest) *release.Release {
	t.Helper()
	loaded, err := loader.LoadArchive(bytes.NewReader(request.Archive))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for _, layer := range request.Values {
		read, err := loader.LoadValues(strings.NewReader(layer.Text))
		if err != nil {
			t.Fatal(err)
		}
		values = loader.MergeMaps(values, read)
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace, install.IsUpgrade = request.Release.Name, request.Release.Namespace, request.Release.Upgrade
	if install.KubeVersion, err = common.ParseKubeVersion("v1.36.0"); err != nil {
		t.Fatal(err)
	}
	installed, err := install.Run(loaded, values)
	if err != nil {
		t.Fatal(err)
	}
	return installed.(*release.Release)
}

func TestTheRecordIsWhatHelmInstallStores(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	upgrade := chartRequest(t, created(t), "autoscaling: {enabled: true}\ningress: {enabled: true}\nreplicaCount: null\n")
	upgrade.Release.Upgrade = true
	for name, request := range map[string]ChartRequest{
		"hooks and order": chartRequest(t, hooked(), "replicas: 3\n"),
		"subcharts":       chartRequest(t, nested(t), "uno: {inner: {y2: 1}}\n", "tags: {extras: true}\ndue: {enabled: false}\nglobal: {h: 2}"),
		"all subcharts":   chartRequest(t, nested(t)),
		"helm create":     chartRequest(t, created(t)),
		"upgrade":         upgrade,
		"nothing":         chartRequest(t, entries{"Chart.yaml": valkeyYAML}),
		"v1":              chartRequest(t, valkey("").with(entries{"Chart.yaml": "name: v1\nversion: 1.0.0\nengine: gotpl\n", "requirements.yaml": "dependencies: []\n"})),
	} {
		t.Run(name, func(t *testing.T) {
			result, err := pool.RenderChart(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			var record release.Release
			if err := json.Unmarshal(result.Record, &record); err != nil {
				t.Fatal(err)
			}
			want := helmInstalls(t, request)
			if record.Manifest != want.Manifest {
				t.Errorf("manifest: got\n%s\nwant\n%s", record.Manifest, want.Manifest)
			}
			// Only what a release's course tells may differ.
			want.Info = &release.Info{Notes: want.Info.Notes}
			wantJSON, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if string(result.Record) != string(wantJSON) {
				t.Errorf("record: got\n%s\nwant\n%s", result.Record, wantJSON)
			}
		})
	}
}

func TestObjectsAndHooksAreInHelmsOrder(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	result, err := pool.RenderChart(context.Background(), chartRequest(t, hooked()))
	if err != nil {
		t.Fatal(err)
	}
	var objects, hooks []string
	for _, object := range result.Objects {
		objects = append(objects, object.GetKind()+" "+object.GetName())
	}
	if want := []string{"Namespace extra", "Secret s", "Service b", "Service a", "StatefulSet cache-valkey", "Ant a", "Zebra z"}; !slices.Equal(objects, want) {
		t.Errorf("objects: got %q, want %q", objects, want)
	}
	for _, hook := range result.Hooks {
		if hook.Object.GetName() != hook.Name || hook.Object.GetKind() != hook.Kind || hook.Path != "valkey/templates/hooks.yaml" {
			t.Errorf("hook %s %s at %s is not the object %s %s", hook.Kind, hook.Name, hook.Path, hook.Object.GetKind(), hook.Object.GetName())
		}
		hooks = append(hooks, fmt.Sprint(hook.Weight, " ", hook.Kind, " ", hook.Name, " ", hook.Events, " ", hook.DeletePolicies))
	}
	want := []string{
		"-5 Pod a-first [pre-install] [hook-succeeded before-hook-creation]",
		"-5 Job b-first [pre-install] [before-hook-creation]",
		"0 Pod tests [test] [before-hook-creation]",
		"0 Secret zero [pre-install] [before-hook-creation]",
		"5 ServiceAccount second [pre-install] [before-hook-creation]",
		"5 Job second [pre-install post-upgrade] [before-hook-creation]",
	}
	if !slices.Equal(hooks, want) {
		t.Errorf("hooks: got %q, want %q", hooks, want)
	}
}

// buildRecorder is a cluster that takes everything and tells in which order.
type buildRecorder struct {
	kubefake.PrintingKubeClient
	mu    sync.Mutex
	built []string
}

func (r *buildRecorder) Build(manifests io.Reader, validate bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(manifests)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.built) == 0 || r.built[len(r.built)-1] != string(text) {
		r.built = append(r.built, string(text))
	}
	return r.PrintingKubeClient.Build(bytes.NewReader(text), validate)
}

func TestHooksAreInTheOrderInWhichHelmRunsThem(t *testing.T) {
	request := chartRequest(t, hooked())
	loaded, err := loader.LoadArchive(bytes.NewReader(request.Archive))
	if err != nil {
		t.Fatal(err)
	}
	cluster := &buildRecorder{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}}
	configuration := action.NewConfiguration()
	configuration.KubeClient, configuration.Releases, configuration.Capabilities = cluster, storage.Init(driver.NewMemory()), common.DefaultCapabilities
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.WaitStrategy = request.Release.Name, request.Release.Namespace, kube.HookOnlyStrategy
	if _, err := install.Run(loaded, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	result, err := newTestPool(t, Options{Workers: 1}).RenderChart(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	// The first is the manifest; each hook may be built again to be deleted when all have run.
	ran := cluster.built[1:]
	for _, hook := range result.Hooks {
		if !slices.Contains(hook.Events, "pre-install") {
			continue
		}
		if len(ran) == 0 || !strings.Contains(ran[0], "kind: "+hook.Kind+"\n") || !strings.Contains(ran[0], "name: "+hook.Name+"\n") {
			t.Fatalf("want %s %s next, Helm runs %q", hook.Kind, hook.Name, ran)
		}
		ran = ran[1:]
	}
}

func BenchmarkRenderChart(b *testing.B) {
	pool := newTestPool(b, Options{Workers: 1})
	files := valkey("{{ range until 15 }}---\n" + strings.Replace(configMap(`"{{ $.Values.text }}"`), "settings", "settings-{{ . }}", 1) + "{{ end }}")
	request := chartRequest(b, files, "text: hello from {{ .Cluster.Name }}")
	for b.Loop() {
		if _, err := pool.RenderChart(context.Background(), request); err != nil {
			b.Fatal(err)
		}
	}
}
