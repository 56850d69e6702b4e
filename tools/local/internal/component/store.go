package component

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
	"github.com/daytwo-dev/daytwo/tools/local/internal/filelock"
)

// Store finds components, and builds those that are missing.
type Store struct {
	// CacheDir holds what was built.
	CacheDir string
	// SourceDir holds the component modules; if "", FindSource looks for it.
	SourceDir string
	// PrebuiltDir holds binaries that are used instead of building them, or is "".
	PrebuiltDir string
	// Downloads fetches programs that their publishers offer; nil builds them all.
	Downloads *download.Fetcher
	// Background lets whatever else runs on the machine go first. It holds for Provide.
	Background bool
	// Progress is told what is downloaded and built, in lines that end with a newline or are Transient.
	Progress io.Writer
}

// Binary returns the path of a program such as "kube-apiserver".
func (s Store) Binary(ctx context.Context, name string) (string, error) {
	if s.isPrebuilt(name) {
		return filepath.Join(s.PrebuiltDir, name), nil
	}
	c, err := s.componentOf(Part{Program: name})
	if err != nil {
		return "", err
	}
	dir, err := s.provide(ctx, c)
	return filepath.Join(dir, name), err
}

func (s Store) isPrebuilt(program string) bool {
	return program != "" && s.PrebuiltDir != "" && isFile(filepath.Join(s.PrebuiltDir, program))
}

// Files returns the directory that holds a component's files.
func (s Store) Files(ctx context.Context, name string) (string, error) {
	c, err := s.componentOf(Part{Files: name})
	if err != nil {
		return "", err
	}
	return s.provide(ctx, c)
}

// provide returns the component's directory in the cache, filling it first if
// it is not there yet.
func (s Store) provide(ctx context.Context, c component) (string, error) {
	source, err := s.Source()
	if err != nil {
		return "", err
	}
	b, err := newBuild(ctx, c, filepath.Join(source, c.source), s.Progress)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.name, err)
	}
	return s.provideBuild(ctx, b)
}

func (s Store) provideBuild(ctx context.Context, b *build) (string, error) {
	if dir, ok := s.cached(b); ok {
		return dir, nil
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if dir, ok := s.cached(b); ok { // Another run provided it meanwhile.
		return dir, nil
	}
	if dir, files := s.downloaded(b); dir != "" {
		err := s.fill(b, dir, func(target string) error { return s.download(ctx, b, files, target) })
		if err == nil || ctx.Err() != nil {
			return dir, err
		}
		b.progressf("%v; so it is built from source", err)
	}
	dir := s.built(b)
	if err := s.fill(b, dir, func(target string) error { return b.run(ctx, target) }); err != nil {
		return "", fmt.Errorf("build %s %s: %w", b.name, b.version, err)
	}
	return dir, nil
}

// built returns the directory of the cache for what is built here.
func (s Store) built(b *build) string { return filepath.Join(s.CacheDir, b.name, b.key) }

// cached returns the directory of the cache that holds the component, if one does.
func (s Store) cached(b *build) (string, bool) {
	downloaded, _ := s.downloaded(b)
	for _, dir := range []string{s.built(b), downloaded} {
		if dir != "" && isDir(dir) {
			return dir, true
		}
	}
	return "", false
}

// Source returns the directory that holds the component modules.
func (s Store) Source() (string, error) {
	if s.SourceDir != "" {
		return s.SourceDir, nil
	}
	return FindSource()
}

// lock lets one run build at a time: two at once would only take turns at the
// processors and compile the same packages twice.
func (s Store) lock(ctx context.Context) (*filelock.Lock, error) {
	path := filepath.Join(s.CacheDir, "lock")
	noWaiting, cancel := context.WithCancel(ctx)
	cancel()
	lock, err := filelock.Acquire(noWaiting, path)
	var held *filelock.HeldError
	if !errors.As(err, &held) || ctx.Err() != nil {
		return lock, err
	}
	_, _ = fmt.Fprintf(s.Progress, "waiting for process %s, which builds components\n", held.Holder)
	return filelock.Acquire(ctx, path)
}

// fill makes what is to be in dir next to it, so that dir is there as a whole or not at all.
func (s Store) fill(b *build, dir string, produce func(target string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	// The lock is ours, so these are what killed builds left behind.
	leftovers, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".building-*"))
	if err != nil {
		return err
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return err
		}
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := produce(temporary); err != nil {
		return err
	}
	if b.version == ownVersion {
		if err := removeOutdated(filepath.Dir(dir), time.Now()); err != nil {
			return err
		}
	}
	return os.Rename(temporary, dir)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
