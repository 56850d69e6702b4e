// Command builtinkinds writes how each supported minor version of Kubernetes serves the kinds that come with it, one
// file a version. It reads the discovery documents that are part of the Kubernetes module, for the versions that the
// local fleet builds.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stable versions are served by every cluster; alpha and beta ones are not.
var stable = regexp.MustCompile(`^v[0-9]+$`)

func main() {
	components := flag.String("components", "local/components", "directory of the modules that require a version of Kubernetes")
	out := flag.String("out", "../controllers/internal/fleet/resources/builtin", "directory to write to")
	flag.Parse()
	if err := run(*components, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(components, out string) error {
	modules, err := filepath.Glob(filepath.Join(components, "kubernetes*"))
	if err != nil {
		return err
	}
	for _, module := range modules {
		version, dir, err := download(module)
		if err != nil {
			return err
		}
		lines, err := read(filepath.Join(dir, "api", "discovery"))
		if err != nil {
			return err
		}
		minor := strings.Join(strings.Split(version, ".")[:2], ".")
		content := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(out, minor+".txt"), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// download returns which version of Kubernetes a module requires, and where its source is.
func download(module string) (version, dir string, err error) {
	command := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes")
	command.Dir = module
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return "", "", fmt.Errorf("download Kubernetes for %s: %w", module, err)
	}
	var found struct{ Version, Dir string }
	err = json.Unmarshal(output, &found)
	return found.Version, found.Dir, err
}

// read makes a line of each kind: its API version, its name, the resource, the scope, and whether it has a status.
func read(discovery string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(discovery, "api*__v*.json"))
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, file := range files {
		if version := strings.TrimSuffix(file[strings.LastIndex(file, "__")+2:], ".json"); !stable.MatchString(version) {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var list metav1.APIResourceList
		if err := json.NewDecoder(bytes.NewReader(content)).Decode(&list); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		lines = append(lines, kinds(list)...)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no discovery documents in %s", discovery)
	}
	slices.Sort(lines)
	return lines, nil
}

func kinds(list metav1.APIResourceList) []string {
	var lines []string
	for _, resource := range list.APIResources {
		if strings.Contains(resource.Name, "/") {
			continue
		}
		line := list.GroupVersion + " " + resource.Kind + " " + resource.Name
		if resource.Namespaced {
			line += " namespaced"
		} else {
			line += " cluster"
		}
		if slices.ContainsFunc(list.APIResources, func(other metav1.APIResource) bool { return other.Name == resource.Name+"/status" }) {
			line += " status"
		}
		lines = append(lines, line)
	}
	return lines
}
