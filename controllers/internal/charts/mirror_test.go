package charts

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newMirror holds archives of the chart web, and a mirror of the repository.
func newMirror(t *testing.T, repository string, versions ...string) (mirrors Mirrors, directory string, archives map[string][]byte) {
	t.Helper()
	directory, archives = t.TempDir(), map[string][]byte{}
	for _, version := range versions {
		archives[version] = packed(t, version, 100)
		putFile(t, directory, "web-"+version+".tgz", archives[version])
	}
	mirrors, err := ParseMirrors([]string{repository + "=" + directory})
	if err != nil {
		t.Fatal(err)
	}
	return mirrors, directory, archives
}

func putFile(t *testing.T, directory, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAMirrorStandsInForItsRepository(t *testing.T) {
	for repository, asked := range map[string]string{
		"https://charts.test/stable": "https://CHARTS.test/stable/",
		"oci://charts.test/team/":    "oci://charts.test/team",
	} {
		w := newEnv(t)
		outside := w.serve(http.NotFoundHandler(), "charts.test")
		mirrors, directory, archives := newMirror(t, repository, "1.0.0", "1.2.3", "2.0.0")
		// What has the name of another chart, and what is no chart, is passed over.
		for _, name := range []string{"web-extra-1.9.0.tgz", "web-1-2.0.0.tgz", "web-1.9.0.tar", "web-1.8.0", "1.7.0.tgz"} {
			putFile(t, directory, name, []byte("other"))
		}
		f := w.fetcher(Options{Mirrors: mirrors})
		source := w.source(asked)
		source.Credentials = alice
		for version, want := range map[string]string{"1.x": "1.2.3", "1.0.0": "1.0.0", "*": "2.0.0"} {
			source.Version = version
			chart, err := f.Fetch(t.Context(), source)
			got(t, chart, err, want, archives[want])
		}
		source.Version, source.Digest = "1.x", digestOf(archives["1.0.0"])
		_, err := f.Fetch(t.Context(), source)
		refusedFor(t, err, DigestMismatch, source.Digest)
		if outside.count("/") > 0 {
			t.Errorf("%s: %d requests went to the repository", repository, outside.count("/"))
		}
	}
}

func TestAMirrorOpensNothingElse(t *testing.T) {
	w := newEnv(t)
	outside := w.serve(http.NotFoundHandler(), "charts.test")
	mirrors, directory, _ := newMirror(t, stable, "1.0.0")
	putFile(t, filepath.Dir(directory), "web-1.5.0.tgz", packed(t, "1.5.0", 100))
	f := w.fetcher(Options{Mirrors: mirrors, MaxArchive: 1000})
	for _, repository := range []string{stable + "/..", stable + "/%2e%2e", stable + "/team", "oci://charts.test/stable"} {
		before := outside.count("/")
		if _, err := f.Fetch(t.Context(), w.source(repository)); err == nil || outside.count("/") == before {
			t.Errorf("%s, which has no mirror, was not asked: %v", repository, err)
		}
	}
	for _, name := range []string{"../web", "..", "team/web", "/etc/web"} {
		source := w.source(stable)
		source.Name = name
		_, err := f.Fetch(t.Context(), source)
		refusedFor(t, err, InvalidSource)
	}
	_, err := f.Fetch(t.Context(), Source{Repository: stable, Name: "web", Version: "1.5.0"})
	refusedFor(t, err, VersionNotFound, "the newest there: 1.0.0", "--chart-mirrors")
	_, err = f.Fetch(t.Context(), Source{Repository: "https://127.0.0.1/stable", Name: "web", Version: "1.x"})
	refusedFor(t, err, SourceRefused, "not on the Internet")
	putFile(t, directory, "web-1.6.0.tgz", packed(t, "1.6.0", 2000))
	_, err = f.Fetch(t.Context(), w.source(stable))
	refusedFor(t, err, ArchiveTooLarge)
}

func TestAMirrorThatCannotBeReadMayBeReadLater(t *testing.T) {
	w := newEnv(t)
	mirrors, directory, _ := newMirror(t, stable, "1.0.0")
	f := w.fetcher(Options{Mirrors: mirrors})
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), w.source(stable))
	passes(t, err, "chart web in "+stable, "cannot be read", "no such file")
	if strings.Contains(err.Error(), directory) {
		t.Errorf("the message names a directory of the manager: %v", err)
	}
}

func TestMirrorsOfAnotherFormAreRefused(t *testing.T) {
	directory := t.TempDir()
	for _, text := range []string{"", stable, stable + "=", "charts.test=" + directory, "http://charts.test=" + directory, stable + "=" + directory + "/none"} {
		if _, err := ParseMirrors([]string{text}); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
