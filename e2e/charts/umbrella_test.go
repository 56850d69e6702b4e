package charts

import (
	"reflect"
	"strings"
	"testing"
)

func TestUmbrellaSwitchesItsSubcharts(t *testing.T) {
	on, off := map[string]any{"enabled": true}, map[string]any{"enabled": false}
	cache, frontend, backoffice := "StatefulSet/acme-cache", "Deployment/acme-frontend", "Deployment/acme-backoffice"
	tests := map[string]struct {
		values map[string]any
		want   []string
	}{
		"by default":               {nil, []string{cache, frontend}},
		"a tag is off":             {map[string]any{"tags": map[string]any{"storage": false}}, []string{frontend}},
		"a condition beats a tag":  {map[string]any{"tags": map[string]any{"storage": false}, "cache": on}, []string{cache, frontend}},
		"the alias is on":          {map[string]any{"backoffice": on}, []string{cache, frontend, backoffice}},
		"without what people see":  {map[string]any{"frontend": off}, []string{cache}},
		"all of it":                {map[string]any{"backoffice": on, "cache": on}, []string{cache, frontend, backoffice}},
		"with nothing switched on": {map[string]any{"frontend": off, "cache": off}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := objects(t, rendered(t, "umbrella", FirstVersion, test.values).Manifest)
			for _, id := range []string{cache, frontend, backoffice} {
				_, there := got[id]
				if want := strings.Contains(strings.Join(test.want, " "), id); there != want {
					t.Errorf("%s is there: %v, want %v", id, there, want)
				}
			}
		})
	}
}

func TestUmbrellaImportsValuesOfItsCache(t *testing.T) {
	got := objects(t, rendered(t, "umbrella", FirstVersion, nil).Manifest)
	want := map[string]any{"DOMAIN": "example.com", "CACHE_PORT": "6379", "CACHE_MEMORY": "256Mi"}
	if data := dig(t, got["ConfigMap/acme-connections"], "data"); !reflect.DeepEqual(data, want) {
		t.Errorf("connections = %v, want %v", data, want)
	}
}

func TestUmbrellaUpgradeHasANewerCache(t *testing.T) {
	for version, image := range map[string]string{FirstVersion: "valkey:8.0.3", SecondVersion: "valkey:8.2.0"} {
		if manifest := rendered(t, "umbrella", version, nil).Manifest; !strings.Contains(manifest, image) {
			t.Errorf("%s does not run %s", version, image)
		}
	}
}

func TestUmbrellaRefusesValuesAgainstItsSchema(t *testing.T) {
	_, err := render(t, "umbrella", FirstVersion, map[string]any{"frontend": map[string]any{"replicas": 11}})
	if err == nil || !strings.Contains(err.Error(), "/frontend/replicas") {
		t.Errorf("11 replicas end with %v, want the schema to name /frontend/replicas", err)
	}
}
