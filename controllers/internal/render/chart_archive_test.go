package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

// packedChart makes an archive of a chart with more entries, raw ones.
func packedChart(t testing.TB, fill func(*tar.Writer)) []byte {
	return packTar(t, func(w *tar.Writer) {
		addFile(t, w, "chart/Chart.yaml", valkeyYAML)
		fill(w)
	})
}

func packedEntry(t testing.TB, header tar.Header, content string) []byte {
	return packedChart(t, func(w *tar.Writer) { addEntry(t, w, &header, content) })
}

func packedNamed(t testing.TB, name string) []byte {
	return packedEntry(t, tar.Header{Name: name, Mode: 0o644}, "")
}

// zeros is a chart with files of 5 MiB each that pack to almost nothing.
func zeros(t testing.TB, files int) []byte {
	content := strings.Repeat("\x00", 5<<20)
	return packedChart(t, func(w *tar.Writer) {
		for i := range files {
			addFile(t, w, fmt.Sprintf("chart/%d.bin", i), content)
		}
	})
}

// inside puts an archive into a chart's charts as many times, and that into another, and so on.
func inside(t testing.TB, packed []byte, depth, times int) []byte {
	for range depth {
		content := string(packed)
		packed = packedChart(t, func(w *tar.Writer) {
			for i := range times {
				addFile(t, w, fmt.Sprintf("chart/charts/%d.tgz", i), content)
			}
		})
	}
	return packed
}

// emptyFiles is a chart of many files without content.
func emptyFiles(t testing.TB, files int) []byte {
	return packedChart(t, func(w *tar.Writer) {
		for i := range files {
			addFile(t, w, fmt.Sprintf("chart/files/%d", i), "")
		}
	})
}

// oneHugeFile is a header that promises 10 GiB, and some of them.
func oneHugeFile(t testing.TB) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: "chart/huge", Mode: 0o644, Size: 10 << 30}); err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for range 200 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// extendedHeaders is a chart whose headers unpack to more than its files.
func extendedHeaders(t testing.TB) []byte {
	return packedChart(t, func(w *tar.Writer) {
		for i := range 150 {
			addEntry(t, w, &tar.Header{
				Name: fmt.Sprintf("chart/%d", i), Mode: 0o644, Format: tar.FormatPAX,
				PAXRecords: map[string]string{"DAYTWO.x": strings.Repeat("x", 1<<20-1000)},
			}, "")
		}
	})
}

func TestHostileArchivesAreRefused(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	var worker int
	pool.onStart = func(pid int) { worker = pid }
	mustRenderChart(t, pool)
	before := peakMemory(t, worker)
	for name, test := range map[string]struct {
		archive []byte
		want    []string
	}{
		"nothing":             {nil, []string{"the chart is no .tgz that can be read"}},
		"no archive":          {[]byte("text"), []string{"the chart is no .tgz that can be read"}},
		"cut off":             {zeros(t, 1)[:2000], []string{"the chart is no .tgz that can be read"}},
		"21 MiB packed":       {make([]byte, 21<<20), []string{"the packaged chart is larger than 20 MiB"}},
		"zip bomb":            {zeros(t, 25), []string{`the chart: "chart/19.bin"`, "more than 100 MiB"}},
		"huge file":           {oneHugeFile(t), []string{`the chart: "chart/huge" has more than 5 MiB`}},
		"headers":             {extendedHeaders(t), []string{"more than 100 MiB to decompress"}},
		"nested zip bomb":     {inside(t, zeros(t, 10), 1, 20), []string{`"chart/charts/1.tgz": "chart/9.bin"`, "more than 100 MiB"}},
		"deeper zip bomb":     {inside(t, zeros(t, 1), 3, 8), []string{`"chart/charts/0.tgz": "chart/charts/2.tgz": "chart/charts/3.tgz"`, "more than 100 MiB"}},
		"nested too deep":     {inside(t, packedNamed(t, "chart/x"), 9, 1), []string{"archives within archives more than 8 deep"}},
		"500,000 empty files": {emptyFiles(t, 500_000), []string{`"chart/files/4999"`, "more than 5000 files"}},
		"many nested files":   {inside(t, emptyFiles(t, 600), 1, 10), []string{`"chart/charts/8.tgz": "chart/files/`, "more than 5000 files"}},
		"many directories": {packedChart(t, func(w *tar.Writer) {
			for i := range 5000 {
				addEntry(t, w, &tar.Header{Name: fmt.Sprintf("chart/%d/", i), Typeflag: tar.TypeDir}, "")
			}
		}), []string{"more than 5000 files"}},
		"symlink":        {packedEntry(t, tar.Header{Name: "chart/a", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, ""), []string{`the chart: "chart/a" is a link`}},
		"hard link":      {packedEntry(t, tar.Header{Name: "chart/a", Linkname: "chart/b", Typeflag: tar.TypeLink}, ""), []string{"is a link"}},
		"device":         {packedEntry(t, tar.Header{Name: "chart/a", Typeflag: tar.TypeChar}, ""), []string{"a device"}},
		"fifo":           {packedEntry(t, tar.Header{Name: "chart/a", Typeflag: tar.TypeFifo}, ""), []string{"something else that is no file"}},
		"nested symlink": {inside(t, packedEntry(t, tar.Header{Name: "chart/a", Linkname: "b", Typeflag: tar.TypeSymlink}, ""), 1, 1), []string{`"chart/charts/0.tgz": "chart/a" is a link`}},
		"parent":         {packedNamed(t, "chart/../../etc/x"), []string{`"chart/../../etc/x" has .. in its path`}},
		"parent first":   {packedNamed(t, "../x"), []string{"has .. in its path"}},
		"absolute":       {packedNamed(t, "/etc/passwd"), []string{`"/etc/passwd" has an absolute path`}},
		"absolute below": {packedNamed(t, "chart//etc/passwd"), []string{"has an absolute path"}},
		"drive":          {packedNamed(t, "chart/c:/x"), []string{"has an absolute path"}},
		"backslash":      {packedNamed(t, `chart\templates\a.yaml`), []string{"has a backslash"}},
		"top level":      {packedNamed(t, "x"), []string{`"x" lies beside the chart's directory`}},
		"long name":      {packedNamed(t, "chart/"+strings.Repeat("x", 1000)+"\\"), []string{`xxx"… has a backslash`}},
		"nested garbage": {packedEntry(t, tar.Header{Name: "chart/charts/a.tgz", Mode: 0o644, Size: 4}, "text"), []string{`the chart: "chart/charts/a.tgz" is no .tgz that can be read`}},
		"deep in a directory": {packedEntry(t, tar.Header{Name: "chart/charts/sub/charts/a.tgz", Mode: 0o644, Size: 4}, "text"),
			[]string{`"chart/charts/sub/charts/a.tgz" is no .tgz`}},
		"behind a dot": {packedEntry(t, tar.Header{Name: "chart/x/../charts/a.tgz", Mode: 0o644, Size: 4}, "text"), []string{"has .. in its path"}},
		"written otherwise": {packedEntry(t, tar.Header{Name: "chart/./charts/./a.tgz", Mode: 0o644, Size: 4}, "text"),
			[]string{`"chart/./charts/./a.tgz" is no .tgz`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pool.InspectChart(context.Background(), "", test.archive)
			wantRefusal(t, err, manifest.ChartRefused, test.want...)
			mustRenderChart(t, pool)
		})
	}
	// Of 256 MiB that a worker may use; what it holds at its start is not counted.
	if grown := peakMemory(t, worker) - before; grown > 64<<20 {
		t.Errorf("the worker used %d MiB more than before", grown>>20)
	}
}

func TestArchivesThatHelmWouldNotUnpackAreFiles(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1})
	files := entries{"Chart.yaml": valkeyYAML}
	for _, name := range []string{"a.tgz", "files/charts/a.tgz", "charts/_a.tgz", "charts/.a.tgz", "charts/_sub/charts/a.tgz", "templates/charts/_a.tgz"} {
		files[name] = "text"
	}
	if _, err := pool.RenderChart(context.Background(), chartRequest(t, files)); err != nil {
		t.Error(err)
	}
}

func TestALargeChartThatKeepsTheLimitsRenders(t *testing.T) {
	pool := newTestPool(t, Options{Workers: 1, Limits: Limits{Time: time.Hour}})
	request := chartRequest(t, entries{})
	request.Archive = inside(t, zeros(t, 2), 1, 2)
	if _, err := pool.RenderChart(context.Background(), request); err != nil {
		t.Error(err)
	}
}

// mustRenderChart fails the test unless a small chart renders.
func mustRenderChart(t *testing.T, pool *Pool) {
	t.Helper()
	if got, err := rendersTo(t, pool, "{{ .Values.a }}", "a: '{{ .Cluster.Name }}'"); err != nil || got != "prod" {
		t.Fatalf("a good chart renders to %q, %v", got, err)
	}
}
