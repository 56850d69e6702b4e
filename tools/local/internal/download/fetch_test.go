package download_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
	"github.com/daytwo-dev/daytwo/tools/local/internal/download/downloadtest"
)

// publisher answers for two hosts.
type publisher struct{ *downloadtest.Publisher }

func newPublisher(t *testing.T, handler http.HandlerFunc) publisher {
	t.Helper()
	return publisher{downloadtest.Start(t, handler, "dl.example.com", "cdn.example.com")}
}

// patient is longer than any test.
const patient = time.Hour

func (p publisher) fetcher() *download.Fetcher {
	return &download.Fetcher{Transport: p.Transport, Answer: patient, Stall: patient, Whole: patient}
}

const (
	program = "#!/bin/sh\necho hello\n"
	address = "https://dl.example.com/v1/hello"
)

func helloFile() download.File {
	return download.File{Name: "hello", URL: address, Checksums: address + ".sha256"}
}

// expectFailure fetches a file, and expects an error and that nothing is left.
func expectFailure(t *testing.T, fetcher *download.Fetcher, file download.File, want string) {
	t.Helper()
	dir := t.TempDir()
	_, err := fetcher.Fetch(t.Context(), file, dir, func(int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Fetch() = %v, want %q in it", err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func expectProgram(t *testing.T, fetcher *download.Fetcher, file download.File, wantSource string) {
	t.Helper()
	dir := t.TempDir()
	source, err := fetcher.Fetch(t.Context(), file, dir, func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if source != wantSource {
		t.Errorf("checked against %q, want %q", source, wantSource)
	}
	path := filepath.Join(dir, "hello")
	content, err := os.ReadFile(path)
	if err != nil || string(content) != program {
		t.Errorf("fetched %q, %v", content, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program is not executable: %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left beside the program: %v", left)
	}
}

func TestAFileIsCheckedAgainstWhatItsHostSays(t *testing.T) {
	github := fmt.Sprintf(`{"assets": [{"name": "other", "digest": "sha256:%s"}, {"name": "hello", "digest": "sha256:%s"}]}`, downloadtest.Sum("other"), downloadtest.Sum(program))
	for name, document := range map[string]string{
		"the checksum alone":  downloadtest.Sum(program),
		"lines of sha256sum":  downloadtest.Sum("other") + "  other\n" + downloadtest.Sum(program) + "  hello\n",
		"a release of GitHub": github,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, downloadtest.Files(map[string]string{"dl.example.com/v1/hello": program, "dl.example.com/v1/hello.sha256": document}))
			expectProgram(t, p.fetcher(), helloFile(), address+".sha256")
		})
	}
}

func TestAPinnedChecksumDecidesAlone(t *testing.T) {
	p := newPublisher(t, downloadtest.Files(map[string]string{"dl.example.com/v1/hello": program, "dl.example.com/v1/hello.sha256": downloadtest.Sum(program)}))
	fetcher := p.fetcher()
	pin := func(checksum string) {
		t.Helper()
		pins, err := download.ParsePins(strings.NewReader("# comment\n\n" + checksum + "  " + address + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		fetcher.Pins = pins
	}
	pin(downloadtest.Sum(program))
	expectProgram(t, fetcher, helloFile(), "the pinned checksum")
	if asked := p.Asked(); asked != 1 {
		t.Errorf("%d requests, want one for the file alone", asked)
	}
	pin(downloadtest.Sum("something else"))
	expectFailure(t, fetcher, helloFile(), "according to the pinned checksum it is "+downloadtest.Sum("something else"))
}

func TestPinsThatMeanNothingAreErrors(t *testing.T) {
	for _, line := range []string{"abc  " + address, downloadtest.Sum("x"), downloadtest.Sum("x") + "  http://dl.example.com/x", downloadtest.Sum("x") + "  " + address + "  more"} {
		if _, err := download.ParsePins(strings.NewReader(line + "\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("ParsePins(%q) = %v", line, err)
		}
	}
}

func TestAnotherFileThanThePublishedOneIsRefused(t *testing.T) {
	contents := map[string]string{"dl.example.com/v1/hello": program + "more", "dl.example.com/v1/hello.sha256": downloadtest.Sum(program)}
	expectFailure(t, newPublisher(t, downloadtest.Files(contents)).fetcher(), helloFile(), "the SHA-256 of "+address+" is "+downloadtest.Sum(program+"more"))
}

func TestAFileWithoutAChecksumIsRefused(t *testing.T) {
	contents := map[string]string{"dl.example.com/v1/hello": program, "dl.example.com/v1/hello.sha256": downloadtest.Sum(program) + "  other\n"}
	fetcher := newPublisher(t, downloadtest.Files(contents)).fetcher()
	expectFailure(t, fetcher, helloFile(), "tells no checksum of "+address)
	expectFailure(t, fetcher, download.File{Name: "hello", URL: address}, "neither pinned nor published")
	expectFailure(t, fetcher, download.File{Name: "hello", URL: address, Checksums: address + ".md5"}, "404 Not Found")
}

func TestATruncatedFileIsRefused(t *testing.T) {
	p := newPublisher(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			_, _ = w.Write([]byte(downloadtest.Sum(program)))
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(program)))
		_, _ = w.Write([]byte(program[:len(program)/2]))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	expectFailure(t, p.fetcher(), helloFile(), "read "+address)
}

func TestAHostThatDoesNotAnswerIsNotAskedAgain(t *testing.T) {
	p := newPublisher(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	sent := &countingTransport{RoundTripper: p.Transport}
	fetcher := p.fetcher()
	fetcher.Transport, fetcher.Answer = sent, time.Millisecond
	expectFailure(t, fetcher, helloFile(), "dl.example.com did not answer within 1ms")
	fetcher.Answer = patient
	expectFailure(t, fetcher, helloFile(), "dl.example.com did not answer within")
	if sent.requests != 1 {
		t.Errorf("the host was sent %d requests, want one", sent.requests)
	}
}

type countingTransport struct {
	http.RoundTripper
	requests int
}

func (c *countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests++
	return c.RoundTripper.RoundTrip(request)
}

func TestAHostThatCannotBeReachedIsNotAskedAgain(t *testing.T) {
	dialed := 0
	fetcher := &download.Fetcher{Answer: patient, Stall: patient, Whole: patient, Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			dialed++
			return nil, fmt.Errorf("no route to host")
		},
	}}
	for range 2 {
		expectFailure(t, fetcher, helloFile(), "dl.example.com cannot be asked: no route to host")
	}
	if dialed != 1 {
		t.Errorf("connected %d times, want once", dialed)
	}
}

func TestAHostThatStopsSendingIsGivenUp(t *testing.T) {
	p := newPublisher(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			_, _ = w.Write([]byte(downloadtest.Sum(program)))
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	fetcher := p.fetcher()
	fetcher.Pins, _ = download.ParsePins(strings.NewReader(downloadtest.Sum(program) + " " + address))
	fetcher.Stall = time.Millisecond
	expectFailure(t, fetcher, helloFile(), "dl.example.com sent nothing for 1ms")
	fetcher.Stall, fetcher.Whole = patient, time.Millisecond
	expectFailure(t, fetcher, helloFile(), "dl.example.com did not send all of "+address+" within 1ms")
}

func TestTheEndOfTheCallerIsNotTheHostsFault(t *testing.T) {
	asked := make(chan struct{}, 1)
	var answers atomic.Bool
	contents := downloadtest.Files(map[string]string{"dl.example.com/v1/hello": program, "dl.example.com/v1/hello.sha256": downloadtest.Sum(program)})
	p := newPublisher(t, func(w http.ResponseWriter, r *http.Request) {
		if answers.Load() {
			contents(w, r)
			return
		}
		asked <- struct{}{}
		<-r.Context().Done()
	})
	fetcher := p.fetcher()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := fetcher.Fetch(ctx, helloFile(), t.TempDir(), func(int64, int64) {}); err == nil || ctx.Err() == nil {
		t.Fatalf("Fetch() = %v", err)
	}
	answers.Store(true)
	expectProgram(t, fetcher, helloFile(), address+".sha256")
}

func TestSizesAreBounded(t *testing.T) {
	p := newPublisher(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/hello.sha256":
			_, _ = w.Write([]byte(downloadtest.Sum(program)))
		case "/v1/hello":
			w.Header().Set("Content-Length", fmt.Sprint(int64(1)<<40))
			w.WriteHeader(http.StatusOK)
		case "/v1/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}
	})
	expectFailure(t, p.fetcher(), helloFile(), "more than the")
	endless := helloFile()
	endless.Checksums = "https://dl.example.com/v1/endless"
	expectFailure(t, p.fetcher(), endless, "more than the")
}

func TestOnlyHTTPSIsFollowed(t *testing.T) {
	moved := ""
	p := newPublisher(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "dl.example.com" {
			http.Redirect(w, r, moved+r.URL.Path, http.StatusFound)
			return
		}
		downloadtest.Files(map[string]string{"cdn.example.com/v1/hello": program, "cdn.example.com/v1/hello.sha256": downloadtest.Sum(program)})(w, r)
	})
	moved = "https://cdn.example.com"
	expectProgram(t, p.fetcher(), helloFile(), address+".sha256")
	moved = "http://cdn.example.com"
	expectFailure(t, p.fetcher(), helloFile(), "whose scheme is not https")
	moved = "https://dl.example.com"
	expectFailure(t, p.fetcher(), helloFile(), "more than 5 times")
	plain := helloFile()
	plain.Checksums = "http://dl.example.com/v1/hello.sha256"
	expectFailure(t, p.fetcher(), plain, "its scheme is not https")
}

// member is one entry of an archive.
type member struct {
	header  tar.Header
	content string
}

func archiveOf(t *testing.T, members ...member) string {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	files := tar.NewWriter(compressed)
	for _, m := range members {
		m.header.Mode = 0o644
		if m.header.Size == 0 {
			m.header.Size = int64(len(m.content))
		}
		if err := files.WriteHeader(&m.header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	_ = files.Close() // An archive that promises more than it has cannot be closed properly.
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func TestOnlyTheProgramIsTakenOutOfAnArchive(t *testing.T) {
	regular := func(name, content string) member {
		return member{tar.Header{Name: name, Typeflag: tar.TypeReg}, content}
	}
	link := member{header: tar.Header{Name: "hello-v1/hello", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh"}}
	for name, test := range map[string]struct {
		archive string
		// want is in the error, or "" if there is to be none.
		want string
	}{
		"in its place":        {archiveOf(t, regular("hello-v1/README.md", "text"), regular("hello-v1/hello", program)), ""},
		"beside a way out":    {archiveOf(t, regular("../../evil", "evil"), regular("/tmp/evil", "evil"), regular("hello-v1/hello", program)), ""},
		"nowhere":             {archiveOf(t, regular("hello", program)), "there is no hello-v1/hello in it"},
		"up in the tree":      {archiveOf(t, regular("../hello-v1/hello", program)), "there is no hello-v1/hello in it"},
		"as a link":           {archiveOf(t, link), "no regular file"},
		"of a size too large": {archiveOf(t, member{header: tar.Header{Name: "hello-v1/hello", Typeflag: tar.TypeReg, Size: 1 << 40}}), "more than the"},
		"cut off":             {archiveOf(t, member{tar.Header{Name: "hello-v1/hello", Typeflag: tar.TypeReg, Size: 1 << 20}, program}), "unexpected EOF"},
		"in no archive":       {program, "it is no .tar.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, downloadtest.Files(map[string]string{"dl.example.com/v1/hello": test.archive, "dl.example.com/v1/hello.sha256": downloadtest.Sum(test.archive)}))
			file := helloFile()
			file.Member = "hello-v1/hello"
			if test.want == "" {
				expectProgram(t, p.fetcher(), file, address+".sha256")
				return
			}
			expectFailure(t, p.fetcher(), file, test.want)
		})
	}
}

func TestProgressTellsHowMuchHasCome(t *testing.T) {
	p := newPublisher(t, downloadtest.Files(map[string]string{"dl.example.com/v1/hello": program, "dl.example.com/v1/hello.sha256": downloadtest.Sum(program)}))
	var received, size int64
	_, err := p.fetcher().Fetch(t.Context(), helloFile(), t.TempDir(), func(r, s int64) { received, size = r, s })
	if err != nil || received != int64(len(program)) || size != int64(len(program)) {
		t.Errorf("progress told of %d of %d bytes, %v", received, size, err)
	}
}
