package download

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Bounds of what hosts send, in bytes. The largest program of Kubernetes has less than a third of the first.
const (
	maxFile      = 384 << 20
	maxChecksums = 4 << 20
)

// maxRedirects is how many hosts may send us on: dl.k8s.io and GitHub do so once.
const maxRedirects = 5

// File is a program that its publisher offers.
type File struct {
	// Name is that of the program, under which it is written.
	Name string
	// URL is that of the program, or of a .tar.gz that holds it. Its scheme is https.
	URL string
	// Member is the path of the program in the archive; "" if URL is the program itself.
	Member string
	// Checksums is the URL of what the publisher says of checksums, or "".
	Checksums string
}

// Fetcher fetches files. Its methods may be called at the same time.
type Fetcher struct {
	// Transport carries requests; nil is the one of package net/http.
	Transport http.RoundTripper
	// Answer is how long a host may take until it begins to answer. One that takes longer is not asked again.
	Answer time.Duration
	// Stall is how long a host that answers may send nothing.
	Stall time.Duration
	// Whole is how long a host that answers may take for all of a file.
	Whole time.Duration
	// Pins win over what a host says of its files.
	Pins Pins

	mu     sync.Mutex
	silent map[string]error
}

// Fetch writes the program into dir, under its name and executable, and returns what its checksum was compared with. It
// tells progress how many bytes have come, of how many; of -1 if the host does not say. Nothing of a file that fails is left.
func (f *Fetcher) Fetch(ctx context.Context, file File, dir string, progress func(received, size int64)) (source string, err error) {
	sum, source, err := f.checksum(ctx, file)
	if err != nil {
		return "", err
	}
	received, err := os.CreateTemp(dir, ".download-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, received.Close(), removeIfThere(received.Name())) }()
	hash := sum.hash()
	if err := f.get(ctx, file.URL, maxFile, io.MultiWriter(received, hash), progress); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != string(sum) {
		return "", fmt.Errorf("the %s of %s is %s, but according to %s it is %s", sum.algorithm(), file.URL, got, source, sum)
	}
	target := filepath.Join(dir, file.Name)
	if file.Member == "" {
		return source, errors.Join(received.Chmod(0o755), os.Rename(received.Name(), target))
	}
	if _, err := received.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if err := extract(received, file.Member, target); err != nil {
		return "", fmt.Errorf("%s: %w", file.URL, err)
	}
	return source, nil
}

// checksum returns what the file's checksum has to be, and who says so.
func (f *Fetcher) checksum(ctx context.Context, file File) (sum checksum, source string, err error) {
	if sum, ok := f.Pins[file.URL]; ok {
		return sum, "the pinned checksum", nil
	}
	if file.Checksums == "" {
		return "", "", fmt.Errorf("the checksum of %s is neither pinned nor published", file.URL)
	}
	document := &bytes.Buffer{}
	if err := f.get(ctx, file.Checksums, maxChecksums, document, func(int64, int64) {}); err != nil {
		return "", "", err
	}
	sum, ok := published(document.Bytes(), file.URL)
	if !ok {
		return "", "", fmt.Errorf("%s tells no checksum of %s", file.Checksums, file.URL)
	}
	return sum, file.Checksums, nil
}

// get writes what is at an address to out.
func (f *Fetcher) get(ctx context.Context, address string, most int64, out io.Writer, progress func(received, size int64)) error {
	host, err := f.hostOf(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	response, err := f.ask(ctx, cancel, host, address)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s to GET %s", host, response.Status, address)
	}
	if response.ContentLength > most {
		return fmt.Errorf("%s has %d bytes, more than the %d that are expected at most", address, response.ContentLength, most)
	}
	stalled := fmt.Errorf("%s sent nothing for %s", host, f.Stall)
	watchdog := time.AfterFunc(f.Stall, func() { cancel(stalled) })
	defer watchdog.Stop()
	late := fmt.Errorf("%s did not send all of %s within %s", host, address, f.Whole)
	defer time.AfterFunc(f.Whole, func() { cancel(late) }).Stop()
	body := &watchedReader{from: response.Body, progress: func(received int64) {
		watchdog.Reset(f.Stall)
		progress(received, response.ContentLength)
	}}
	received, err := io.Copy(out, io.LimitReader(body, most+1))
	switch {
	case context.Cause(ctx) != nil:
		// Also without an error: a server may end its answer well when it sees that the connection is given up.
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("read %s: %w", address, err)
	case received > most:
		return fmt.Errorf("%s has more than the %d bytes that are expected at most", address, most)
	}
	return nil
}

// ask returns the answer to a GET, and remembers a host that gives none.
func (f *Fetcher) ask(ctx context.Context, cancel context.CancelCauseFunc, host, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	slow := fmt.Errorf("%s did not answer within %s", host, f.Answer)
	timer := time.AfterFunc(f.Answer, func() { cancel(slow) })
	client := &http.Client{Transport: f.Transport, CheckRedirect: checkRedirect}
	response, err := client.Do(request) //nolint:bodyclose // The caller closes it.
	timer.Stop()
	if err == nil {
		return response, nil
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, slow):
		err = slow
	case cause != nil: // The caller gave up, which says nothing about the host.
		return nil, cause
	default:
		err = fmt.Errorf("%s cannot be asked: %w", host, errors.Unwrap(err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.silent == nil {
		f.silent = map[string]error{}
	}
	f.silent[host] = err
	return nil, err
}

// hostOf returns the host of an address that may be asked.
func (f *Fetcher) hostOf(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if parsed.Scheme != "https" {
		return "", fmt.Errorf("%s is not fetched: its scheme is not https", address)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return parsed.Host, f.silent[parsed.Host]
}

func checkRedirect(request *http.Request, via []*http.Request) error {
	if request.URL.Scheme != "https" {
		return fmt.Errorf("it leads to %s, whose scheme is not https", request.URL.Redacted())
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("it leads on more than %d times", maxRedirects)
	}
	return nil
}

// watchedReader tells how much was read whenever something was.
type watchedReader struct {
	from     io.Reader
	received int64
	progress func(received int64)
}

func (r *watchedReader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if n > 0 {
		r.received += int64(n)
		r.progress(r.received)
	}
	return n, err
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
