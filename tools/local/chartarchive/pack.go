// Package chartarchive packs Helm charts.
package chartarchive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// packed says that a directory is to become an archive.
const packed = ".tgz"

// modified is when all files of all archives say they were: bytes are not to depend on the clock.
var modified = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// Pack packs a chart as helm package does, from its files by their paths below the chart. A directory whose name ends
// in .tgz is packed on its own, as a vendored subchart is. The same files always give the same bytes.
func Pack(name string, files map[string][]byte) ([]byte, error) {
	files, err := packNested(files)
	if err != nil {
		return nil, err
	}
	buffer := &bytes.Buffer{}
	compressed := gzip.NewWriter(buffer)
	archive := tar.NewWriter(compressed)
	for _, file := range order(files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(name, file), Mode: 0o644, Size: int64(len(files[file])), ModTime: modified,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s of chart %s: %w", file, name, err)
		}
		if _, err := archive.Write(files[file]); err != nil {
			return nil, fmt.Errorf("pack %s of chart %s: %w", file, name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// order begins with Chart.yaml, as helm package does, for those who only want to know what a chart is.
func order(files map[string][]byte) []string {
	const first = "Chart.yaml"
	return slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		switch first {
		case a:
			return -1
		case b:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// packNested replaces the files of each directory that is to be an archive with that archive.
func packNested(files map[string][]byte) (map[string][]byte, error) {
	plain, nested := map[string][]byte{}, map[string]map[string][]byte{}
	for file, content := range files {
		archive, inside, found := strings.Cut(file, packed+"/")
		if !found {
			plain[file] = content
			continue
		}
		if nested[archive] == nil {
			nested[archive] = map[string][]byte{}
		}
		nested[archive][inside] = content
	}
	for archive, contents := range nested {
		content, err := Pack(path.Base(archive), contents)
		if err != nil {
			return nil, err
		}
		plain[archive+packed] = content
	}
	return plain, nil
}
