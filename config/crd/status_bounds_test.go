package crd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// formats bound a text by themselves: what is written in them is a time, or a duration as Go writes it.
var formats = []string{"date-time", "duration"}

// A status grows with what a customer's cluster answers, and with what people write, unless its schema bounds it.
func TestEveryTextAndListOfAStatusHasABound(t *testing.T) {
	files, err := filepath.Glob("bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d definitions: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			status, found := version.Schema.OpenAPIV3Schema.Properties["status"]
			if !found {
				t.Errorf("%s has no status", file)
			}
			for _, path := range unbounded("status", status) {
				t.Errorf("%s %s: %s has no bound: set maxLength, maxItems or maxProperties", definition.Spec.Names.Kind, version.Name, path)
			}
		}
	}
}

// The walk finds what it is to find.
func TestWhatHasNoBoundIsFound(t *testing.T) {
	text, list := apiextensionsv1.JSONSchemaProps{Type: "string"}, apiextensionsv1.JSONSchemaProps{Type: "array"}
	list.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	texts := apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}}
	schema := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"list": list, "any": anything, "texts": texts, "count": {Type: "integer"}, "time": {Type: "string", Format: "date-time"},
		"word": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}}},
	}}
	got := unbounded("status", schema)
	slices.Sort(got)
	if want := []string{"status.any", "status.list", "status.list[]", "status.texts", "status.texts{}"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// unbounded are the places in a schema that may grow without end.
func unbounded(path string, schema apiextensionsv1.JSONSchemaProps) (found []string) {
	isText := schema.Type == "string" || schema.XIntOrString
	switch {
	case isText && schema.MaxLength == nil && len(schema.Enum) == 0 && !slices.Contains(formats, schema.Format),
		schema.Type == "array" && schema.MaxItems == nil,
		schema.AdditionalProperties != nil && schema.MaxProperties == nil,
		schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields, schema.XEmbeddedResource,
		schema.Type == "":
		found = append(found, path)
	}
	for name, one := range schema.Properties {
		found = append(found, unbounded(path+"."+name, one)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found = append(found, unbounded(path+"[]", *schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found = append(found, unbounded(path+"{}", *schema.AdditionalProperties.Schema)...)
	}
	return found
}
