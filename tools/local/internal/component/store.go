package component

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

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
	// Progress is told what is being built.
	Progress io.Writer
}

// Binary returns the path of a program such as "kube-apiserver".
func (s Store) Binary(ctx context.Context, name string) (string, error) {
	if path := filepath.Join(s.PrebuiltDir, name); s.PrebuiltDir != "" && isFile(path) {
		return path, nil
	}
	for _, c := range catalog() {
		if _, ok := c.packages[name]; ok {
			dir, err := s.provide(ctx, c)
			return filepath.Join(dir, name), err
		}
	}
	return "", fmt.Errorf("no component has a program %q", name)
}

// Files returns the directory that holds a component's files.
func (s Store) Files(ctx context.Context, name string) (string, error) {
	for _, c := range catalog() {
		if c.name == name {
			return s.provide(ctx, c)
		}
	}
	return "", fmt.Errorf("no component %q", name)
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
	dir := filepath.Join(s.CacheDir, c.name, b.key)
	if isDir(dir) {
		return dir, nil
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if isDir(dir) { // Another run built it meanwhile.
		return dir, nil
	}
	if err := s.fill(ctx, b, dir); err != nil {
		return "", fmt.Errorf("build %s %s: %w", c.name, b.version, err)
	}
	return dir, nil
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

// fill builds next to dir, so that dir is there as a whole or not at all.
func (s Store) fill(ctx context.Context, b *build, dir string) error {
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
	if err := b.run(ctx, temporary); err != nil {
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
