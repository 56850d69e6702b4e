package manifests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadReadsAllDocumentsInOrder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: third}\n")
	write(t, dir, "a.yml", "# a comment\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\n"+
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: second}\n---\n")
	write(t, dir, "kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	write(t, dir, "README.md", "not a manifest")
	objects, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	if want := []string{"first", "second", "third"}; !slices.Equal(names, want) {
		t.Errorf("loaded %v, want %v", names, want)
	}
}

func TestLoadNamesTheDocumentThatIsWrong(t *testing.T) {
	tests := map[string]string{
		"not YAML": "apiVersion: v1\n---\n{",
		"no kind":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nmetadata: {name: b}\n",
		"no name":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\n",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "objects.yaml", content)
			_, err := Load(filepath.Join(dir, "objects.yaml"))
			if err == nil || !strings.Contains(err.Error(), "objects.yaml: document ") {
				t.Errorf("Load() = %v, want an error that names the file and the document", err)
			}
		})
	}
}
