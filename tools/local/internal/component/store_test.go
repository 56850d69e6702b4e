package component

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// newModule writes a component module that depends on nothing but itself, and
// returns the directory of all component modules.
func newModule(t *testing.T) string {
	t.Helper()
	source := t.TempDir()
	files := map[string]string{
		"go.mod":           "module example.com/hello\n\ngo 1.26\n\nrequire example.com/upstream v1.2.3\n\nreplace example.com/upstream => ./upstream\n",
		"go.sum":           "",
		"upstream/go.mod":  "module example.com/upstream\n\ngo 1.26\n",
		"upstream/main.go": "package main\n\nvar gitVersion string\n\nfunc main() { print(gitVersion) }\n",
		"hello.go":         "//go:build tools\n\npackage hello\n\nimport _ \"example.com/upstream\"\n",
	}
	for name, content := range files {
		path := filepath.Join(source, "hello", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return source
}

func hello() component {
	return component{
		name:           "hello",
		source:         "hello",
		module:         "example.com/upstream",
		packages:       map[string]string{"greet": "example.com/upstream"},
		versionPackage: "main",
	}
}

func TestProvideBuildsOnceForManyRuns(t *testing.T) {
	store := Store{CacheDir: t.TempDir(), SourceDir: newModule(t)}
	outputs := make([]bytes.Buffer, 3)
	dirs := make([]string, len(outputs))
	var group sync.WaitGroup
	for i := range outputs {
		group.Go(func() {
			run := store
			run.Progress = &outputs[i]
			var err error
			if dirs[i], err = run.provide(t.Context(), hello()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	var all strings.Builder
	for i := range outputs {
		all.WriteString(outputs[i].String())
		if dirs[i] != dirs[0] {
			t.Errorf("run %d was given %s, run 0 %s", i, dirs[i], dirs[0])
		}
	}
	if builds := strings.Count(all.String(), "hello v1.2.3: building\n"); builds != 1 {
		t.Errorf("built %d times, want once:\n%s", builds, all.String())
	}
	output, err := exec.Command(filepath.Join(dirs[0], "greet")).CombinedOutput()
	if err != nil || string(output) != "v1.2.3" {
		t.Errorf("the binary says %q, %v; want the version it was linked with", output, err)
	}
}

func TestProvideBuildsAnewWhenTheModuleChanges(t *testing.T) {
	store := Store{CacheDir: t.TempDir(), SourceDir: newModule(t), Progress: io.Discard}
	before, err := store.provide(t.Context(), hello())
	if err != nil {
		t.Fatal(err)
	}
	goSum := filepath.Join(store.SourceDir, "hello", "go.sum")
	if err := os.WriteFile(goSum, []byte("example.com/x v1.0.0 h1:AAAA=\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := store.provide(t.Context(), hello())
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("the same directory %s before and after go.sum changed", before)
	}
}

func TestProvideLeavesNothingBehindWhenABuildFails(t *testing.T) {
	store := Store{CacheDir: t.TempDir(), SourceDir: newModule(t), Progress: io.Discard}
	broken := filepath.Join(store.SourceDir, "hello", "upstream", "main.go")
	if err := os.WriteFile(broken, []byte("package main\n\nfunc main() { undefined() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := store.provide(t.Context(), hello())
	if err == nil || !strings.Contains(err.Error(), "build hello v1.2.3") || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("error %v does not say what failed to build, and why", err)
	}
	left, err := os.ReadDir(filepath.Join(store.CacheDir, "hello"))
	if err != nil || len(left) != 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}

func TestBinaryPrefersPrebuilt(t *testing.T) {
	prebuilt := t.TempDir()
	want := filepath.Join(prebuilt, "etcd")
	if err := os.WriteFile(want, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	store := Store{PrebuiltDir: prebuilt, Progress: io.Discard}
	if got, err := store.Binary(t.Context(), "etcd"); err != nil || got != want {
		t.Errorf("Binary(etcd) = %q, %v; want %q", got, err, want)
	}
}

func TestEveryComponentHasAModuleThatPinsItsVersion(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range catalog() {
		b, err := newBuild(t.Context(), c, filepath.Join(source, c.source), io.Discard)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !strings.HasPrefix(b.key, b.version+"-") {
			t.Errorf("%s: key %q does not begin with the version", c.name, b.key)
		}
	}
}
