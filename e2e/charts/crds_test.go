package charts

import (
	"bytes"
	"reflect"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"
)

// siteProperties are what the schema of the definition in crds/ knows.
func siteProperties(t *testing.T, version string) []string {
	t.Helper()
	chart, err := loader.LoadArchive(bytes.NewReader(archive(t, "crds", version)))
	if err != nil {
		t.Fatal(err)
	}
	definitions := chart.CRDObjects()
	if len(definitions) != 1 {
		t.Fatalf("there are %d files in crds/, want 1", len(definitions))
	}
	definition := map[string]any{}
	if err := yaml.Unmarshal(definitions[0].File.Data, &definition); err != nil {
		t.Fatal(err)
	}
	served := dig(t, definition, "spec", "versions").([]any)[0].(map[string]any)
	properties := dig(t, served, "schema", "openAPIV3Schema", "properties", "spec", "properties")
	return ids(properties.(map[string]any))
}

func TestCRDsUpgradeAddsAField(t *testing.T) {
	got := [][]string{siteProperties(t, FirstVersion), siteProperties(t, SecondVersion)}
	want := [][]string{{"domain", "replicas"}, {"domain", "language", "replicas"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("properties = %v, want %v", got, want)
	}
}

func TestCRDsSubchartDefinesItsOwnGroup(t *testing.T) {
	values := map[string]any{"plans": map[string]any{"group": "acme.example.com"}}
	got := objects(t, rendered(t, "crds", FirstVersion, values).Manifest)
	for _, id := range []string{"CustomResourceDefinition/plans.acme.example.com", "Site/acme"} {
		if _, there := got[id]; !there {
			t.Errorf("there is no %s, but %v", id, ids(got))
		}
	}
}
