package apis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is what the test reads of a definition's schema.
type schema struct {
	Description string            `json:"description"`
	Default     any               `json:"default"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
}

// undescribed are the fields below a path whose default their description does not name. An empty object is one whose fields
// have defaults of their own.
func (s schema) undescribed(path string) (found []string) {
	object, isObject := s.Default.(map[string]any)
	if s.Default != nil && (!isObject || len(object) > 0) && !strings.Contains(strings.ToLower(s.Description), "default") {
		found = append(found, path)
	}
	for name, property := range s.Properties {
		found = append(found, property.undescribed(path+"."+name)...)
	}
	if s.Items != nil {
		found = append(found, s.Items.undescribed(path+"[]")...)
	}
	return found
}

func TestExplainNamesEveryDefault(t *testing.T) {
	files, err := filepath.Glob("../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no definitions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range definition.Spec.Versions {
			for _, field := range version.Schema.OpenAPIV3Schema.undescribed("") {
				t.Errorf("%s: kubectl explain does not name the default of %s", filepath.Base(file), strings.TrimPrefix(field, "."))
			}
		}
	}
}
