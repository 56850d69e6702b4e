package component

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
)

// downloaded returns the directory of the cache that holds the component's programs as their publisher built them, apart
// from those that were built here, and the programs. It returns "" if they have to be built.
func (s Store) downloaded(b *build) (dir string, files []download.File) {
	if s.Downloads == nil {
		return "", nil
	}
	files = b.release(b.version, b.on)
	if len(files) == 0 {
		return "", nil
	}
	hash := sha256.New()
	_, _ = fmt.Fprint(hash, files, s.Downloads.Pins.Of(files)) // A hash takes everything.
	key := b.version + "-official-" + hex.EncodeToString(hash.Sum(nil)[:6])
	return filepath.Join(s.CacheDir, b.name, key), files
}

// download puts the component's programs into target.
func (s Store) download(ctx context.Context, b *build, files []download.File, target string) error {
	task := b.start("downloading from " + host(files[0].URL))
	defer task.stop()
	var sources []string
	for _, file := range files {
		source, err := s.Downloads.Fetch(ctx, file, target, func(received, size int64) {
			detail := fmt.Sprintf(", %s: %d MB", file.Name, megabytes(received))
			if size > 0 {
				detail = fmt.Sprintf(", %s: %d of %d MB", file.Name, megabytes(received), megabytes(size))
			}
			task.update(detail)
		})
		if err != nil {
			return err
		}
		sources = append(sources, source)
	}
	task.done(fmt.Sprintf("downloaded, and checked against %s,", slices.Compact(sources)[0]))
	return nil
}
