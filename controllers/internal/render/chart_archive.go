package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// What a chart may be. Helm's own limits are the same or larger, but start anew for every archive
// inside an archive: 16 KB could make it allocate 3 GB.
const (
	// maxPacked is the most bytes of an archive as it is fetched.
	maxPacked = 20 << 20
	// maxUnpacked is the most bytes of all files, those of archives inside included, and also of all
	// that is decompressed on the way to them.
	maxUnpacked = 100 << 20
	// maxChartFiles counts directories as well.
	maxChartFiles = 5000
	// maxNesting is how deep archives may lie within archives.
	maxNesting = 8
)

// smallerChart is the way out for those who own the chart.
const smallerChart = "package it without what it does not need (.helmignore)"

// archiveWalk goes through an archive, and those inside it, as Helm's loader would unpack them,
// but keeps nothing. Its counters are shared by all.
type archiveWalk struct {
	files        int
	unpacked     int64
	decompressed int64
}

// checkArchive refuses what Helm's loader should not see.
func checkArchive(packed []byte) *manifest.Error {
	walk := &archiveWalk{}
	return walk.archive(bytes.NewReader(packed), "the chart", 0)
}

// archive walks one archive; where names it.
func (w *archiveWalk) archive(packed io.Reader, where string, depth int) *manifest.Error {
	if depth > maxNesting {
		return manifest.ChartRefusedf("%s lies in archives within archives more than %d deep: unpack the charts in charts/", where, maxNesting)
	}
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return w.unreadable(where, err)
	}
	entries := tar.NewReader(&countedReader{walk: w, from: unzipped})
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return w.unreadable(where, err)
		}
		if failure := w.entry(header, entries, where, depth); failure != nil {
			return failure
		}
	}
}

func (w *archiveWalk) entry(header *tar.Header, content io.Reader, where string, depth int) *manifest.Error {
	name := fmt.Sprintf("%s: %s", where, shown(header.Name))
	if w.files++; w.files > maxChartFiles {
		return manifest.ChartRefusedf("%s: there are more than %d files in all: %s", name, maxChartFiles, smallerChart)
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return manifest.ChartRefusedf("%s is a link, a device or something else that is no file: package the chart with the file itself", name)
	}
	if problem := nameProblem(header.Name); problem != "" {
		return manifest.ChartRefusedf("%s %s: package the chart with `helm package`", name, problem)
	}
	if header.FileInfo().IsDir() {
		return nil
	}
	inside, failure := w.file(header, name)
	if failure != nil {
		return failure
	}
	if isPackedSubchart(inside) {
		return w.archive(content, name, depth+1)
	}
	return nil
}

// file counts a file and returns its path in the chart: Helm leaves out the first directory,
// whatever that is called.
func (w *archiveWalk) file(header *tar.Header, name string) (inside string, failure *manifest.Error) {
	_, inside, found := strings.Cut(header.Name, "/")
	inside = path.Clean(inside)
	if !found || inside == "." {
		return "", manifest.ChartRefusedf("%s lies beside the chart's directory, not in it: package the chart with `helm package`", name)
	}
	if header.Size > archive.MaxDecompressedFileSize {
		return "", manifest.ChartRefusedf("%s has more than %s: %s", name, size(archive.MaxDecompressedFileSize), smallerChart)
	}
	if w.unpacked += header.Size; w.unpacked > maxUnpacked {
		return "", manifest.ChartRefusedf("%s: unpacked, the files have more than %s in all: %s", name, size(maxUnpacked), smallerChart)
	}
	return inside, nil
}

// unreadable explains an error of gzip or tar, which may be the counter's.
func (w *archiveWalk) unreadable(where string, err error) *manifest.Error {
	if w.decompressed > maxUnpacked {
		return manifest.ChartRefusedf("%s: there are more than %s to decompress in all: %s", where, size(maxUnpacked), smallerChart)
	}
	return manifest.ChartRefusedf("%s is no .tgz that can be read (%v): package the chart with `helm package`", where, err)
}

// nameProblem says what is wrong with an entry's name, or nothing.
func nameProblem(name string) string {
	_, inside, _ := strings.Cut(name, "/")
	drive, _, hasDrive := strings.Cut(inside, ":/")
	switch {
	case strings.Contains(name, `\`):
		return "has a backslash in its name"
	case path.IsAbs(name), path.IsAbs(inside), hasDrive && len(drive) == 1:
		return "has an absolute path"
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "has .. in its path"
	}
	return ""
}

// isPackedSubchart reports whether Helm's loader unpacks a file: charts/NAME.tgz, also under the
// directory of a subchart, but nothing under one whose name starts with _ or a dot.
func isPackedSubchart(inside string) bool {
	for {
		rest, isSubchart := strings.CutPrefix(inside, "charts/")
		if !isSubchart || strings.HasPrefix(rest, "_") || strings.HasPrefix(rest, ".") {
			return false
		}
		_, below, isDirectory := strings.Cut(rest, "/")
		if !isDirectory {
			return path.Ext(rest) == ".tgz"
		}
		inside = below
	}
}

// shown shortens a name that is too long for a message.
func shown(name string) string {
	const enough = 120
	if len(name) <= enough {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q…", name[:enough])
}

// countedReader counts what it reads, and ends when that is too much.
type countedReader struct {
	walk *archiveWalk
	from io.Reader
}

var errTooMuch = errors.New("too much to decompress")

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.walk.decompressed += int64(n)
	if r.walk.decompressed > maxUnpacked {
		return 0, errTooMuch
	}
	return n, err
}
