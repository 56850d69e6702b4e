package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func collect(texts ...string) ([]map[string]any, *Error) {
	c := NewCollector()
	for i, text := range texts {
		if failure := c.AddSource(fmt.Sprintf("source %d", i+1), []byte(text), true); failure != nil {
			return nil, failure
		}
	}
	return c.Objects, nil
}

func TestDocumentsBecomeObjectsInTheirOrder(t *testing.T) {
	objects, failure := collect(
		"\xef\xbb\xbf# comment\n---\n\n---\r\napiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: a}\r\n...\n"+
			"--- {apiVersion: v1, kind: Secret, metadata: {name: c}}\n--- null\n",
		`{"apiVersion": "v1", "kind": "List", "items": [
			{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}},
			{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d", "namespace": "n"}}]}]}`,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata:\n  text: |\n    ---\n    ...\n  ---x: y\n",
	)
	if failure != nil {
		t.Fatal(failure)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object["metadata"].(map[string]any)["name"].(string))
	}
	if got := strings.Join(names, " "); got != "a c d d e" {
		t.Errorf("got %s", got)
	}
}

func TestNumbersStayWhatTheyAre(t *testing.T) {
	objects, failure := collect("apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {i: 9007199254740993, f: 0.5}")
	if failure != nil {
		t.Fatal(failure)
	}
	spec := objects[0]["spec"].(map[string]any)
	if spec["i"] != int64(9007199254740993) || spec["f"] != 0.5 {
		t.Errorf("got %v", spec)
	}
}

func TestABlockScalarAtTheEndOfAManifestKeepsItsNewline(t *testing.T) {
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  x: |\n    text"
	objects, failure := collect(strings.Replace(one, "NAME", "a", 1)+"\n---\n"+strings.Replace(one, "NAME", "b", 1), strings.Replace(one, "NAME", "c", 1)+"\n")
	if failure != nil {
		t.Fatal(failure)
	}
	for _, object := range objects {
		if got := object["data"].(map[string]any)["x"]; got != "text\n" {
			t.Errorf("%v: got %q", object["metadata"], got)
		}
	}
}

func TestWhatIsNoManifestIsRefused(t *testing.T) {
	const secret = "s3cr3t"
	object := func(metadata string) string { return "apiVersion: v1\nkind: Secret\nmetadata: " + metadata + "\n" }
	for name, test := range map[string]struct{ text, want string }{
		"no object":              {"- a", "source 1, document 1 is not an object"},
		"no apiVersion":          {"kind: X", "apiVersion is missing"},
		"bad apiVersion":         {"apiVersion: a/b/c\nkind: X", "apiVersion is missing or not of the form"},
		"numeric apiVersion":     {"apiVersion: 1\nkind: X", "apiVersion is missing or not of the form"},
		"no kind":                {"apiVersion: v1", "document 1: kind is missing"},
		"no metadata":            {"apiVersion: v1\nkind: Secret", "(Secret): metadata is missing"},
		"a long name":            {object("{name: " + strings.Repeat("n", 254) + "}"), "metadata.name has 254 bytes, and Kubernetes takes at most 253"},
		"a long namespace":       {object("{name: a, namespace: " + strings.Repeat("n", 64) + "}"), "metadata.namespace has 64 bytes"},
		"a long kind":            {"apiVersion: v1\nkind: " + strings.Repeat("K", 1<<20) + "\nmetadata: {name: a}\n", "kind has 1048576 bytes"},
		"a long group":           {"apiVersion: " + strings.Repeat("g", 254) + "/v1\nkind: Secret\nmetadata: {name: a}\n", "apiVersion has 254 bytes"},
		"no name":                {object("{}"), "(Secret): metadata.name is missing"},
		"numeric name":           {object("{name: 5}"), "metadata.name is missing or not a string"},
		"generated name":         {object("{generateName: a}"), "metadata.generateName"},
		"numeric namespace":      {object("{name: a, namespace: 5}"), "metadata.namespace"},
		"numeric label":          {object("{name: a, labels: {tier: 1}}"), "metadata.labels[tier] is not a string: quote it"},
		"labels in a list":       {object("{name: a, labels: [tier]}"), "metadata.labels is not a dictionary"},
		"boolean annotation":     {object("{name: a, annotations: {x: true}}"), "metadata.annotations[x]"},
		"reserved label":         {object("{name: a, labels: {daytwo.dev/managed-by: me}}"), `(Secret "a"): the label daytwo.dev/managed-by is Daytwo's own`},
		"reserved hash":          {object("{name: a, labels: {daytwo.dev/hash: x}}"), "daytwo.dev/hash"},
		"numeric stringData":     {object("{name: a}") + "stringData: {x: 5}", "stringData[x] is not a string"},
		"data in a list":         {object("{name: a}") + "data: []\nstringData: {x: z}", "data is not a dictionary"},
		"same object twice":      {object("{name: a}") + "---\n" + object("{name: a}"), `source 1, document 2 (Secret "a") is the same object as in source 1, document 1`},
		"items that are none":    {"apiVersion: v1\nkind: List\nitems: 5", "items of the List"},
		"item that is none":      {"apiVersion: v1\nkind: List\nitems: [5]", "document 1, item 1 is not an object"},
		"bad YAML":               {"# comment\n---\n" + object("{name: a}") + "---\nc: d\ne: [" + secret, "source 1, document 2: line 8 of the rendered text is not valid YAML"},
		"tab":                    {"a: b\n\tc: " + secret, "line 2 of the rendered text"},
		"key twice":              {"a: b\nc: d\na: " + secret, `line 3 of the rendered text sets the key "a" again`},
		"unknown anchor":         {"password: *" + secret, "quote values that start with *"},
		"bad tag":                {"password: !!int " + secret, "quote values"},
		"dictionary as a key":    {"{" + secret + ": b}: c", "keys that are not plain words"},
		"list as a key":          {"? [" + secret + "]\n: c", "keys that are not plain words"},
		"too many objects":       {strings.Repeat("---\napiVersion: v1\nkind: X\nmetadata: {name: n@}\n", MaxObjects+1), "more than 2000 objects"},
		"control characters":     {"a: \x01" + secret, "not valid YAML"},
		"binary that is no text": {"a: !!binary ???" + secret, "not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			number := 0
			text := test.text
			for strings.Contains(text, "@") {
				number++
				text = strings.Replace(text, "@", fmt.Sprint(number), 1)
			}
			_, failure := collect(text)
			if failure == nil || !strings.Contains(failure.Message, test.want) {
				t.Fatalf("got %v, want %q in it", failure, test.want)
			}
			if strings.Contains(failure.Message, secret) {
				t.Errorf("the error repeats a value: %s", failure)
			}
		})
	}
}

func TestTheSameNameInAnotherGroupOrNamespaceIsAnotherObject(t *testing.T) {
	_, failure := collect(
		"apiVersion: v1\nkind: X\nmetadata: {name: a}",
		"apiVersion: g/v1\nkind: X\nmetadata: {name: a}",
		"apiVersion: v1\nkind: X\nmetadata: {name: a, namespace: other}",
	)
	if failure != nil {
		t.Error(failure)
	}
	_, failure = collect("apiVersion: g/v1\nkind: X\nmetadata: {name: a}", "apiVersion: g/v2\nkind: X\nmetadata: {name: a}")
	if failure == nil {
		t.Error("two versions of one object were accepted")
	}
}

func TestManifestsAreCleaned(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"server fields": {
			`{apiVersion: v1, kind: Pod, status: {phase: Running}, spec: {status: kept, empty: null},
			metadata: {name: a, uid: u, resourceVersion: "1", generation: 2, creationTimestamp: null, managedFields: [], selfLink: x}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"empty":null,"status":"kept"}}`,
		},
		"stringData": {
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: new, b: x}, data: {a: b2xk, c: eQ==}}`,
			`{"apiVersion":"v1","data":{"a":"bmV3","b":"eA==","c":"eQ=="},"kind":"Secret","metadata":{"name":"a"}}`,
		},
		"stringData alone": {
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: x}}`,
			`{"apiVersion":"v1","data":{"a":"eA=="},"kind":"Secret","metadata":{"name":"a"}}`,
		},
		"null stringData": {
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: null}`,
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`,
		},
		"stringData of another kind": {
			`{apiVersion: x/v1, kind: Secret, metadata: {name: a}, stringData: {a: x}}`,
			`{"apiVersion":"x/v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"a":"x"}}`,
		},
	} {
		objects, failure := collect(test.text)
		if failure != nil {
			t.Errorf("%s: %v", name, failure)
			continue
		}
		encoded, err := json.Marshal(objects[0])
		if err != nil || string(encoded) != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, encoded, err, test.want)
		}
	}
}
