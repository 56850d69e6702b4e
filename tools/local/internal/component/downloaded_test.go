package component

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
	"github.com/daytwo-dev/daytwo/tools/local/internal/download/downloadtest"
)

const officialKwok = "what the publisher built"

// published is the component kwok as far as downloads go, and quickly built.
func publishedComponent() component {
	c := hello()
	c.name, c.packages = "kwok", map[string]string{"kwok": "example.com/upstream"}
	return c
}

// release are the answers of the hosts that publish KWOK.
func release(program, checksum string) map[string]string {
	name := "kwok-" + runtime.GOOS + "-" + runtime.GOARCH
	return map[string]string{
		"github.com/kubernetes-sigs/kwok/releases/download/v1.2.3/" + name: program,
		"api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v1.2.3":   `{"assets": [{"name": "` + name + `", "digest": "sha256:` + checksum + `"}]}`,
	}
}

// downloadingStore downloads from a publisher, and returns what it tells.
func downloadingStore(t *testing.T, handler http.HandlerFunc) (Store, *downloadtest.Publisher, *bytes.Buffer) {
	t.Helper()
	var progress bytes.Buffer
	publisher := downloadtest.Start(t, handler, "github.com", "api.github.com")
	return Store{
		CacheDir: t.TempDir(), SourceDir: newModule(t), Progress: &progress,
		Downloads: &download.Fetcher{Transport: publisher.Transport, Answer: time.Hour, Stall: time.Hour, Whole: time.Hour},
	}, publisher, &progress
}

func isOfficial(t *testing.T, dir string) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "kwok"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content) == officialKwok
}

func TestOfficialProgramsAreDownloadedOnceAndKeptApart(t *testing.T) {
	store, publisher, progress := downloadingStore(t, downloadtest.Files(release(officialKwok, downloadtest.Sum(officialKwok))))
	dir, err := store.provide(t.Context(), publishedComponent())
	if err != nil || !isOfficial(t, dir) {
		t.Fatalf("provided %s, %v\n%s", dir, err, progress)
	}
	for _, want := range []string{"kwok v1.2.3: downloading from github.com\n", "checked against https://api.github.com/"} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress without %q:\n%s", want, progress)
		}
	}
	asked := publisher.Asked()
	if again, err := store.provide(t.Context(), publishedComponent()); err != nil || again != dir || publisher.Asked() != asked {
		t.Errorf("then %s, %v, with %d further requests", again, err, publisher.Asked()-asked)
	}

	store.Downloads = nil
	built, err := store.provide(t.Context(), publishedComponent())
	if err != nil || built == dir || isOfficial(t, built) {
		t.Errorf("without downloads %s, %v, want one that was built", built, err)
	}
}

func TestWhatIsBuiltAlreadyIsNotDownloaded(t *testing.T) {
	store, publisher, _ := downloadingStore(t, downloadtest.Files(release(officialKwok, downloadtest.Sum(officialKwok))))
	building := store
	building.Downloads = nil
	built, err := building.provide(t.Context(), publishedComponent())
	if err != nil {
		t.Fatal(err)
	}
	if dir, err := store.provide(t.Context(), publishedComponent()); err != nil || dir != built || publisher.Asked() > 0 {
		t.Errorf("provided %s, %v, with %d requests; want %s", dir, err, publisher.Asked(), built)
	}
}

func TestWhatCannotBeDownloadedIsBuiltAndToldWhy(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		answer  time.Duration
		want    string
	}{
		"a wrong checksum":      {downloadtest.Files(release(officialKwok, downloadtest.Sum("something else"))), time.Hour, "the SHA-256 of https://github.com/"},
		"a release without it":  {downloadtest.Files(nil), time.Hour, "api.github.com answered 404 Not Found"},
		"a host without answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, time.Millisecond, "api.github.com did not answer within 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			store, _, progress := downloadingStore(t, test.handler)
			store.Downloads.Answer = test.answer
			dir, err := store.provide(t.Context(), publishedComponent())
			if err != nil || isOfficial(t, dir) {
				t.Fatalf("provided %s, %v\n%s", dir, err, progress)
			}
			told := 0
			for line := range strings.Lines(progress.String()) {
				if strings.Contains(line, test.want) && strings.HasSuffix(line, "; so it is built from source\n") {
					told++
				}
			}
			if told != 1 {
				t.Errorf("told %d times that it is built because %s:\n%s", told, test.want, progress)
			}
			if left, err := filepath.Glob(filepath.Join(store.CacheDir, "kwok", "*")); err != nil || len(left) != 1 {
				t.Errorf("in the cache: %v, %v", left, err)
			}
		})
	}
}

func TestProvideCountsWhatIsMissing(t *testing.T) {
	var progress bytes.Buffer
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	store := Store{CacheDir: t.TempDir(), SourceDir: source, Progress: &progress}
	parts := []Part{{Program: "etcd"}, {Program: "kube-apiserver"}, {Program: "kube-scheduler"}, {Program: "kwok"}, {Files: KwokStages}}
	missing, err := store.missing(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range missing {
		names = append(names, b.name)
	}
	if got := strings.Join(names, " "); got != "etcd kubernetes kwok "+KwokStages {
		t.Errorf("missing: %s", got)
	}
	prebuilt := t.TempDir()
	if err := os.WriteFile(filepath.Join(prebuilt, "etcd"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	store.PrebuiltDir = prebuilt
	if missing, err = store.missing(t.Context(), parts); err != nil || len(missing) != 3 {
		t.Errorf("missing beside a prebuilt etcd: %d, %v", len(missing), err)
	}
	if _, err := store.missing(t.Context(), []Part{{Program: "nothing"}}); err == nil {
		t.Error("a program that no component has is not noticed")
	}
}

func TestProgressCountsWhatIsProvided(t *testing.T) {
	var progress bytes.Buffer
	store := Store{CacheDir: t.TempDir(), SourceDir: newModule(t), Progress: &progress}
	var missing []*build
	for _, c := range []component{hello(), publishedComponent()} {
		b, err := newBuild(t.Context(), c, filepath.Join(store.SourceDir, c.source), store.Progress)
		if err != nil {
			t.Fatal(err)
		}
		b.background = true
		missing = append(missing, b)
	}
	if err := store.provideAll(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	changes := []string{"[1/2] hello v1.2.3: building", "[1/2] hello v1.2.3: built in ", "[2/2] kwok v1.2.3: building", "[2/2] kwok v1.2.3: built in "}
	var lines []string
	for line := range strings.Lines(progress.String()) {
		// Between the changes are lines that go on from the start of the next one.
		lines = append(lines, line[strings.LastIndex(line, Transient)+1:])
	}
	if len(lines) != len(changes) {
		t.Fatalf("%d changes were told:\n%s", len(lines), progress.String())
	}
	for i, want := range changes {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("change %d is %q, want %q", i+1, lines[i], want)
		}
	}
}

func TestReleasesHaveTheProgramsOfTheirComponents(t *testing.T) {
	downloadable := 0
	for _, c := range catalog() {
		for _, on := range []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"linux", "s390x"}} {
			files := c.release("v1.2.3", on)
			if len(files) == 0 {
				continue
			}
			downloadable++
			if c.hasOwnMain() || c.module == "" || len(c.files) > 0 {
				t.Errorf("%s is not what somebody else publishes", c.name)
			}
			if on.os == "windows" || on.arch == "s390x" {
				t.Errorf("%s is downloaded for %v", c.name, on)
			}
			var names []string
			for _, file := range files {
				names = append(names, file.Name)
				if !strings.HasPrefix(file.URL, "https://") || !strings.Contains(file.URL, "v1.2.3") || file.Checksums == "" {
					t.Errorf("%s: %+v", c.name, file)
				}
			}
			if strings.Join(names, " ") != strings.Join(c.programs(), " ") {
				t.Errorf("%s has the programs %v, its release %v", c.name, c.programs(), names)
			}
		}
	}
	if downloadable == 0 {
		t.Error("nothing can be downloaded")
	}
}

func TestPinnedChecksumsAreOfFilesThatAreDownloaded(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	downloads, err := NewDownloads(source)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range catalog() {
		b, err := newBuild(t.Context(), c, filepath.Join(source, c.source), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}} {
			for _, file := range c.release(b.version, on) {
				known[file.URL] = true
			}
		}
	}
	for url := range downloads.Pins {
		if !known[url] {
			t.Errorf("%s pins %s, which nothing downloads: its version may be a former one", pinsFile, url)
		}
	}
}
