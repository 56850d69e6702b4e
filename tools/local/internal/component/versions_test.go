package component

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"
)

func TestKubernetesCanBeUpgraded(t *testing.T) {
	store := Store{Progress: io.Discard}
	versions, err := store.Versions("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) < 2 || !slices.IsSortedFunc(versions, semver.Compare) {
		t.Errorf("versions %v, want at least two, ascending", versions)
	}
	for _, program := range []string{"kube-controller-manager", "kube-scheduler"} {
		if others, err := store.Versions(program); err != nil || !slices.Equal(others, versions) {
			t.Errorf("%s has versions %v, %v; kube-apiserver has %v", program, others, err, versions)
		}
	}
}

func TestBinaryAtNamesTheVersionsThatThereAre(t *testing.T) {
	store := Store{Progress: io.Discard}
	versions, err := store.Versions("kube-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.BinaryAt(t.Context(), "kube-apiserver", "v1.2.3")
	if err == nil || !strings.Contains(err.Error(), strings.Join(versions, ", ")) {
		t.Errorf("BinaryAt() = %v, want an error that names %v", err, versions)
	}
}

func TestOwnProgramsAreBuiltAnewWhenTheirSourcesChange(t *testing.T) {
	dir := t.TempDir()
	fingerprintAfter := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		hash, err := fingerprint(dir)
		if err != nil {
			t.Fatal(err)
		}
		return string(hash)
	}
	first := fingerprintAfter("a.go", "package a\n")
	for name, changes := range map[string]bool{
		"a_test.go":         false,
		"components/go.mod": false,
		"stages/pod.yaml":   true,
	} {
		next := fingerprintAfter(name, name)
		if (next != first) != changes {
			t.Errorf("with %s, another build: %t, want %t", name, next != first, changes)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if fingerprintAfter("a.go", "package b\n") == first {
		t.Error("the same fingerprint although a.go changed")
	}
}

func TestBuildsOfFormerSourcesGoAfterAWeek(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "recent"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "old"), now, now.Add(-keepOwn-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := removeOutdated(dir, now); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "recent" {
		t.Errorf("left: %v, %v", left, err)
	}
}
