package render

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// noise is text of a length that cannot be packed much.
func noise(length int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func recordOf(t *testing.T, pool *Pool, files entries, values ...string) (*release.Release, error) {
	t.Helper()
	result, err := pool.RenderChart(context.Background(), chartRequest(t, files, values...))
	if err != nil {
		return nil, err
	}
	record := &release.Release{}
	if err := json.Unmarshal(result.Record, record); err != nil {
		t.Fatal(err)
	}
	return record, nil
}

func TestARecordLosesOnlyWhatDoesNotFit(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	small := valkey(configMap("{{ .Values.a }}")).with(entries{"README.md": "# Valkey", "values.schema.json": "{}", "values.yaml": "a: b"})
	for name, test := range map[string]struct {
		files                       entries
		hasFiles, templates, schema bool
	}{
		"small":              {small, true, true, true},
		"packs well":         {small.with(entries{"a.txt": strings.Repeat("x", 4<<20)}), true, true, true},
		"large file":         {small.with(entries{"a.txt": noise(2 << 20)}), false, true, true},
		"huge, packing well": {small.with(entries{"a.txt": strings.Repeat("x", 5<<20), "b.txt": strings.Repeat("x", 5<<20), "c.txt": strings.Repeat("x", 5<<20)}), false, true, true},
		"large template":     {small.with(entries{"templates/b.yaml": "{{/* " + noise(2<<20) + " */}}"}), false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			record, err := recordOf(t, pool, test.files)
			if err != nil {
				t.Fatal(err)
			}
			c := record.Chart
			if (len(c.Files) > 0) != test.hasFiles || (len(c.Templates) > 0) != test.templates || (len(c.Schema) > 0) != test.schema {
				t.Errorf("got %d files, %d templates, %d bytes of schema", len(c.Files), len(c.Templates), len(c.Schema))
			}
			if c.Values["a"] != "b" || c.Metadata.Name != "valkey" || !strings.Contains(record.Manifest, "x: b") {
				t.Error("the record lost more than that")
			}
		})
	}
}

func TestARecordThatDoesNotFitIsAnError(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	_, err := recordOf(t, pool, valkey(""), "a: "+noise(2<<20))
	wantRefusal(t, err, manifest.RecordTooLarge, "Helm's record of the release cache does not fit into a Secret (1000000 bytes packed")
	_, err = recordOf(t, pool, valkey(configMap("{{ .Files.Get \"a.txt\" }}")).with(entries{"a.txt": noise(2 << 20)}))
	wantRefusal(t, err, manifest.RecordTooLarge)
}

func TestHelmsDriverStoresTheRecord(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	// What just fits.
	record, err := recordOf(t, pool, valkey(configMap("a")), "a: "+noise(990_000))
	if err != nil {
		t.Fatal(err)
	}
	secrets := fake.NewClientset().CoreV1().Secrets(record.Namespace)
	stored := storage.Init(driver.NewSecrets(secrets))
	record.Info.Status = "deployed"
	if err := stored.Create(record); err != nil {
		t.Fatal(err)
	}
	list, err := secrets.List(context.Background(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("got %d Secrets, %v", len(list.Items), err)
	}
	if length := len(list.Items[0].Data["release"]); length < 900_000 || length > 1_000_000+1_000 {
		t.Errorf("the Secret has %d bytes", length)
	}
	if _, err := stored.Deployed("cache"); err != nil {
		t.Error(err)
	}
}
