package recovery

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// Item is an object by its place in an archive.
type Item struct {
	Resource schema.GroupResource
	// Namespace of the object; empty for one without.
	Namespace, Name string
}

// String is as in "deployments.apps shop/web".
func (i Item) String() string {
	if i.Namespace == "" {
		return i.Resource.String() + " " + i.Name
	}
	return i.Resource.String() + " " + i.Namespace + "/" + i.Name
}

// Limits of an archive.
type Limits struct {
	// Objects that it may have.
	Objects int
	// ObjectBytes of one of them, and Values in it; TotalBytes of all, unpacked.
	ObjectBytes, TotalBytes int64
	Values                  int
}

// DefaultLimits are 100,000 objects of 4 MiB and 200,000 values each, and 4 GiB in all.
func DefaultLimits() Limits {
	return Limits{Objects: 100_000, ObjectBytes: 4 << 20, Values: 200_000, TotalBytes: 4 << 30}
}

// ArchiveError is an archive that is not what Velero writes, or larger than the limits.
type ArchiveError struct {
	// Entry of the archive; empty if none can be named.
	Entry string
	// Problem with it.
	Problem string
}

// Error implements error.
func (e *ArchiveError) Error() string {
	if e.Entry == "" {
		return e.Problem
	}
	return fmt.Sprintf("entry %q: %s", e.Entry, e.Problem)
}

// Directories of an archive, by pkg/archive of Velero 1.18: resources/<resource.group>/namespaces/<namespace>/<name>.json
// and resources/<resource.group>/cluster/<name>.json. The same objects are once more below a directory for each version of
// the API, which is passed over.
const (
	resourcesDir  = "resources"
	namespacesDir = "namespaces"
	clusterDir    = "cluster"
	maxEntryName  = 1024
	maxEntries    = 4 // For each object: several versions of the API, and directories.
)

// ReadArchive reads the objects of an archive, a tar archive compressed with gzip, and hands them on one by one. It keeps
// none, and writes nothing to disk. An *ArchiveError tells what is wrong with the archive; an error of visit is returned as it
// is, and so is one of the reader.
func ReadArchive(r io.Reader, limits Limits, visit func(Item, *unstructured.Unstructured) error) error {
	source := &recorder{Reader: r}
	unzipped, err := gzip.NewReader(source)
	if err != nil {
		return source.explain("", err)
	}
	a := &archive{entries: tar.NewReader(&budget{Reader: unzipped, left: limits.TotalBytes + 1}), limits: limits, seen: map[Item]bool{}}
	for entries := 0; ; entries++ {
		header, err := a.entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return source.explain("", err)
		}
		if entries > maxEntries*limits.Objects {
			return &ArchiveError{Problem: fmt.Sprintf("it has more than %d entries", maxEntries*limits.Objects)}
		}
		if err := a.entry(header, visit); err != nil {
			return source.explain(header.Name, err)
		}
	}
	// The checksum of gzip comes after the end of the archive.
	if _, err := io.Copy(io.Discard, &budget{Reader: unzipped, left: limits.ObjectBytes + 1}); err != nil {
		return source.explain("", err)
	}
	return nil
}

type archive struct {
	entries *tar.Reader
	limits  Limits
	seen    map[Item]bool
}

// visitError is an error of the visitor's.
type visitError struct{ error }

func (a *archive) entry(header *tar.Header, visit func(Item, *unstructured.Unstructured) error) error {
	if len(header.Name) > maxEntryName {
		return &ArchiveError{Entry: header.Name[:maxEntryName], Problem: "its name is too long"}
	}
	item, isObject := itemOf(header.Name)
	if !isObject || header.Typeflag != tar.TypeReg {
		return nil
	}
	switch {
	case a.seen[item]:
		return &ArchiveError{Entry: header.Name, Problem: "it is there twice"}
	case len(a.seen) >= a.limits.Objects:
		return &ArchiveError{Problem: fmt.Sprintf("it has more than %d objects", a.limits.Objects)}
	case header.Size > a.limits.ObjectBytes:
		return &ArchiveError{Entry: header.Name, Problem: fmt.Sprintf("it has %d bytes, and at most %d are read", header.Size, a.limits.ObjectBytes)}
	}
	a.seen[item] = true
	object, err := a.read(header, item)
	if err != nil {
		return err
	}
	if err := visit(item, object); err != nil {
		return visitError{err}
	}
	return nil
}

func (a *archive) read(header *tar.Header, item Item) (*unstructured.Unstructured, error) {
	raw, err := io.ReadAll(io.LimitReader(a.entries, a.limits.ObjectBytes))
	if err != nil {
		return nil, err
	}
	var size untrusted.JSONSize
	if size.Scan(raw); size.Values > a.limits.Values {
		return nil, &ArchiveError{Entry: header.Name, Problem: fmt.Sprintf("it has more than %d values", a.limits.Values)}
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
		return nil, &ArchiveError{Entry: header.Name, Problem: "it is no JSON"}
	}
	if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() != item.Name || object.GetNamespace() != item.Namespace {
		return nil, &ArchiveError{Entry: header.Name, Problem: "it holds another object than it is called after"}
	}
	return object, nil
}

// itemOf reads the name of an entry; isObject is false for what is not an object, or is one once more.
func itemOf(name string) (item Item, isObject bool) {
	parts := strings.Split(strings.TrimPrefix(name, "./"), "/")
	if len(parts) < 4 || parts[0] != resourcesDir {
		return item, false
	}
	item.Resource = schema.ParseGroupResource(parts[1])
	file, isJSON := strings.CutSuffix(parts[len(parts)-1], ".json")
	switch {
	case !isJSON:
		return item, false
	case parts[2] == namespacesDir && len(parts) == 5:
		item.Namespace, item.Name = parts[3], file
	case parts[2] == clusterDir && len(parts) == 4:
		item.Name = file
	default:
		return item, false
	}
	return item, item.Name != ""
}

// budget ends a reader that holds more than it may.
type budget struct {
	io.Reader
	left int64
}

func (b *budget) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, &ArchiveError{Problem: "unpacked it is larger than what is read of one"}
	}
	n, err := b.Reader.Read(into[:min(int64(len(into)), b.left)])
	b.left -= int64(n)
	return n, err
}

// recorder remembers how the source of an archive failed: that is no fault of the archive.
type recorder struct {
	io.Reader
	err error
}

func (r *recorder) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func (r *recorder) explain(entry string, err error) error {
	var known *ArchiveError
	var visited visitError
	switch {
	case errors.As(err, &visited):
		return visited.error
	case r.err != nil:
		return fmt.Errorf("read the archive: %w", r.err)
	case errors.As(err, &known):
		return known
	}
	return &ArchiveError{Entry: entry, Problem: "the archive is damaged: " + err.Error()}
}
