package faults

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// releasePrefix begins the names of the Secrets in which Helm keeps its records.
const releasePrefix = "sh.helm.release.v1."

// HelmRecords answers a list of the records of a release with so many that somebody else is said to have written, after
// those that are there: their content is HelmRecord's matter.
func HelmRecords(number int) Action {
	return func(e Exchange) {
		selector, err := labels.ConvertSelectorToLabelsMap(e.Request.URL.Query().Get("labelSelector"))
		release := selector["name"]
		if err != nil || release == "" {
			pass(e)
			return
		}
		real := e.objects()
		e.begin(http.StatusOK)
		e.write([]byte(`{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`))
		for _, secret := range real {
			delete(secret.Object, "data")
			e.write(append(encodeJSON(secret), ','))
		}
		for i := range number {
			separator := ","
			if i == 0 {
				separator = ""
			}
			version := len(real) + 1 + i
			fmt.Fprintf(e.Response, `%s{"metadata":{"name":"%s%s.v%d","namespace":"default","uid":"u%[4]d","resourceVersion":"1",`+
				`"labels":{"owner":"helm","name":%[3]q,"status":%[5]q,"version":"%[4]d"}}}`,
				separator, releasePrefix, release, version, []string{"failed", "pending-upgrade"}[i%2])
		}
		e.write([]byte(`]}`))
	}
}

// HelmRecord answers a request for a Secret with a record of Helm's whose data is as given.
func HelmRecord(data []byte) Action {
	encoded := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(data)))
	return func(e Exchange) {
		name := path.Base(e.Request.URL.Path)
		if !strings.HasPrefix(name, releasePrefix) {
			pass(e)
			return
		}
		e.begin(http.StatusOK)
		fmt.Fprintf(e.Response, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":"1","resourceVersion":"1"},`+
			`"type":"helm.sh/release.v1","data":{"release":%q}}`, name, encoded)
	}
}

// InflatingRecord is a record that takes so many bytes once it is inflated. 700 MiB are about the most that fit into a
// Secret.
func InflatingRecord(size int) []byte {
	return compress(`{"name":"web","version":1,"info":{"status":"deployed"},"manifest":"`, size, `"}`)
}

// RecordOf is a record with a manifest.
func RecordOf(manifest string) []byte {
	content, err := json.Marshal(map[string]any{
		"name": "web", "version": 1, "info": map[string]any{"status": "deployed"}, "manifest": manifest,
	})
	if err != nil {
		panic(err) // Texts and numbers can be encoded.
	}
	return compress(string(content), 0, "")
}

// Aliases is a document in YAML whose ten levels of ten aliases each stand for ten thousand million texts.
func Aliases() string {
	const width = 10
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na0: &a0 [\"" + strings.Repeat("x", width) + "\"]\n"
	for level := 1; level <= 10; level++ {
		alias := fmt.Sprintf("*a%d", level-1)
		text += fmt.Sprintf("a%d: &a%[1]d [%s]\n", level, strings.TrimSuffix(strings.Repeat(alias+", ", width), ", "))
	}
	return text
}

// Nested is a document in YAML, and JSON as well, with lists in lists, so many deep.
func Nested(depth int) string {
	return `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deep"}, "data": ` +
		strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}"
}
