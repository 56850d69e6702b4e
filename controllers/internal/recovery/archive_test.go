package recovery

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// entry of an archive.
type entry struct{ name, content string }

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"},"data":{"colour":"blue"}}`

var plain = entry{"resources/configmaps/namespaces/shop/a.json", configMap}

// packed is an archive of entries, as Velero writes them.
func packed(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, one := range entries {
		header := &tar.Header{Name: one.name, Size: int64(len(one.content)), Typeflag: tar.TypeReg, Mode: 0o600}
		if err := archive.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(archive, one.content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func namesIn(r io.Reader, limits Limits) (string, error) {
	var names []string
	err := ReadArchive(r, limits, func(item Item, _ *unstructured.Unstructured) error {
		names = append(names, item.String())
		return nil
	})
	return strings.Join(names, ", "), err
}

func TestTheObjectsOfAnArchive(t *testing.T) {
	archive := packed(t,
		entry{"metadata/version", "1.1.0\n"},
		plain,
		entry{"resources/configmaps/v1-preferredversion/namespaces/shop/a.json", configMap},
		entry{"resources/deployments.apps/namespaces/shop/web.json", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"}}`},
		entry{"resources/namespaces/cluster/shop.json", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`},
	)
	got, err := namesIn(bytes.NewReader(archive), DefaultLimits())
	if want := "configmaps shop/a, deployments.apps shop/web, namespaces shop"; got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAnArchiveThatIsNotWhatVeleroWrites(t *testing.T) {
	whole := packed(t, plain, entry{"resources/configmaps/namespaces/shop/b.json", strings.Replace(configMap, `"name":"a"`, `"name":"b"`, 1)})
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0xff
	checksum := bytes.Clone(whole)
	checksum[len(checksum)-6] ^= 0xff
	few := DefaultLimits()
	few.Objects, few.ObjectBytes = 1, 150
	little := DefaultLimits()
	little.TotalBytes = 700
	dense := DefaultLimits()
	dense.Values = 100
	for name, row := range map[string]struct {
		archive []byte
		limits  Limits
		want    string
	}{
		"no archive":         {[]byte("<html>"), DefaultLimits(), "damaged"},
		"nothing":            {nil, DefaultLimits(), "damaged"},
		"cut off":            {whole[:len(whole)-20], DefaultLimits(), "damaged"},
		"a byte is changed":  {flipped, DefaultLimits(), ""},
		"the sum is wrong":   {checksum, DefaultLimits(), "damaged"},
		"twice":              {packed(t, plain, plain), DefaultLimits(), "it is there twice"},
		"another name":       {packed(t, entry{"resources/configmaps/namespaces/shop/b.json", configMap}), DefaultLimits(), "another object than it is called after"},
		"another namespace":  {packed(t, entry{"resources/configmaps/namespaces/bank/a.json", configMap}), DefaultLimits(), "another object than it is called after"},
		"no JSON":            {packed(t, entry{plain.name, "{"}), DefaultLimits(), "it is no JSON"},
		"no object":          {packed(t, entry{plain.name, "[]"}), DefaultLimits(), "it is no JSON"},
		"too many objects":   {whole, few, "it has more than 1 objects"},
		"too large a one":    {packed(t, entry{plain.name, configMap + strings.Repeat(" ", 200)}), few, "at most 150 are read"},
		"too large":          {whole, little, "larger than what is read of one"},
		"too many values":    {packed(t, entry{plain.name, strings.Replace(configMap, `"blue"`, "["+strings.Repeat("0,", 200)+"0]", 1)}), dense, "it has more than 100 values"},
		"a very long name":   {packed(t, entry{"resources/" + strings.Repeat("x", 2000), ""}), DefaultLimits(), "its name is too long"},
		"many small entries": {packed(t, make([]entry, 20)...), Limits{Objects: 2, ObjectBytes: 100, TotalBytes: 1 << 20, Values: 10}, "more than 8 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := namesIn(bytes.NewReader(row.archive), row.limits)
			var told *ArchiveError
			if !errors.As(err, &told) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// failing is a connection that breaks.
type failing struct{ io.Reader }

func (f failing) Read(into []byte) (int, error) {
	n, err := f.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		err = errors.New("connection reset")
	}
	return n, err
}

func TestAConnectionThatBreaksIsNoFaultOfTheArchive(t *testing.T) {
	whole := packed(t, plain)
	_, err := namesIn(failing{bytes.NewReader(whole[:len(whole)-20])}, DefaultLimits())
	var told *ArchiveError
	if err == nil || errors.As(err, &told) || !strings.Contains(err.Error(), "connection reset") {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorOfTheVisitorIsReturnedAsItIs(t *testing.T) {
	mine := errors.New("enough")
	err := ReadArchive(bytes.NewReader(packed(t, plain)), DefaultLimits(), func(Item, *unstructured.Unstructured) error { return mine })
	if err != mine { //nolint:errorlint // It is to be the same.
		t.Errorf("got %v", err)
	}
}

func FuzzReadArchive(f *testing.F) {
	f.Add(packed(f, plain))
	f.Add(packed(f, entry{"resources/../../etc/passwd", "{}"}, entry{"resources/x/cluster/.json", "{}"}))
	f.Add([]byte{})
	limits := Limits{Objects: 100, ObjectBytes: 1 << 16, TotalBytes: 1 << 20, Values: 1000}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := ReadArchive(bytes.NewReader(raw), limits, func(item Item, object *unstructured.Unstructured) error {
			if item.Name == "" || object.GetName() != item.Name || object.GetNamespace() != item.Namespace {
				return fmt.Errorf("%s holds %s/%s", item, object.GetNamespace(), object.GetName())
			}
			ArchivedDigest(object, Mapping{item.Namespace: "x"})
			return nil
		})
		var told *ArchiveError
		if err != nil && !errors.As(err, &told) {
			t.Error(err)
		}
	})
}
