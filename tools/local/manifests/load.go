package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// kustomizeGroup is what kustomization.yaml files declare: instructions to
// kustomize, not objects.
const kustomizeGroup = "kustomize.config.k8s.io"

// Load reads the objects of all .yaml, .yml and .json files of a directory, in
// the order of their names and without its subdirectories, or of a single file.
// Files may hold several documents. Kustomizations are passed over.
func Load(path string) ([]*unstructured.Unstructured, error) {
	files, err := manifestFiles(path)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		loaded, err := Parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, loaded...)
	}
	return objects, nil
}

func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		extensions := []string{".yaml", ".yml", ".json"}
		if !entry.IsDir() && slices.Contains(extensions, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

// Parse reads the objects of a file that may hold several documents.
func Parse(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(object.Object) == 0 || object.GroupVersionKind().Group == kustomizeGroup {
			continue
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d: apiVersion, kind or metadata.name is missing", number)
		}
		objects = append(objects, object)
	}
}
