package backupstore

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Velero's layout of a bucket, by pkg/persistence/object_store_layout.go of Velero 1.18.
const (
	backupsDir   = "backups"
	metadataFile = "velero-backup.json"
)

const (
	// maxBackups is how many backups of a cluster are looked at.
	maxBackups = 1000
	// maxMetadata is how large the description of a backup may be, in bytes.
	maxMetadata = 1 << 20
	// readAtOnce is how many of them are read at a time.
	readAtOnce = 8
)

// Backup is a backup as the bucket tells of it.
type Backup struct {
	Name  string
	Phase velerov1.BackupPhase
	// StartedAt, EndedAt and ExpiresAt are zero where it does not say.
	StartedAt, EndedAt, ExpiresAt time.Time
	// Items is how many objects it has.
	Items int64
	// Object is all that is said of it.
	Object *unstructured.Unstructured
}

// Backups reads the backups of the cluster, the latest first. Those are passed over that are not complete in the bucket, or
// whose description cannot be read. More than 1,000 are an error.
func (s *Store) Backups(ctx context.Context) ([]Backup, error) {
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]*Backup, len(names))
	places, running, failed := make(chan struct{}, readAtOnce), sync.WaitGroup{}, make(chan error, len(names))
	for i, name := range names {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			one, err := s.Backup(ctx, name)
			switch {
			case err == nil:
				found[i] = &one
			case !IsNotFound(err) && !IsUnreadable(err):
				failed <- err
			}
		})
	}
	running.Wait()
	if len(failed) > 0 {
		return nil, <-failed
	}
	var backups []Backup
	for _, one := range found {
		if one != nil {
			backups = append(backups, *one)
		}
	}
	slices.SortFunc(backups, func(a, b Backup) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.Name, b.Name))
	})
	return backups, nil
}

// names of the backups that the bucket has.
func (s *Store) names(ctx context.Context) ([]string, error) {
	dir := s.key(backupsDir) + "/"
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{
		Bucket: &s.location.Bucket, Prefix: &dir, Delimiter: aws.String("/"),
	}, func(o *s3.ListObjectsV2PaginatorOptions) { o.StopOnDuplicateToken = true })
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.explain(ctx, "list "+dir, dir, err)
		}
		before := len(names)
		for _, one := range page.CommonPrefixes {
			if name := path.Base(aws.ToString(one.Prefix)); len(validation.IsDNS1123Subdomain(name)) == 0 {
				names = append(names, name)
			}
		}
		if len(names) > maxBackups || len(names) == before && pages.HasMorePages() {
			return nil, fmt.Errorf("bucket %s has more than %d backups in %s, or other things: remove what is not needed", s.location.Bucket, maxBackups, dir)
		}
	}
	return names, nil
}

// UnreadableError tells that an object in the bucket is not what it is called, or larger than what is read of one.
type UnreadableError struct{ message string }

// Error implements error.
func (e *UnreadableError) Error() string { return e.message }

// IsUnreadable is whether an error tells that.
func IsUnreadable(err error) bool {
	var unreadable *UnreadableError
	return errors.As(err, &unreadable)
}

// Backup reads what the bucket tells of a backup. IsNotFound tells that there is none.
func (s *Store) Backup(ctx context.Context, name string) (Backup, error) {
	key := s.key(backupsDir, name, metadataFile)
	raw, err := s.read(ctx, key, maxMetadata)
	if err != nil {
		return Backup{}, err
	}
	return parse(raw, name, key)
}

func parse(raw []byte, name, key string) (Backup, error) {
	object, typed := &unstructured.Unstructured{}, velerov1.Backup{}
	err := json.Unmarshal(raw, &object.Object)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed)
	}
	if err == nil && typed.Name != name {
		err = fmt.Errorf("it is called %q", typed.Name)
	}
	if err != nil {
		return Backup{}, &UnreadableError{fmt.Sprintf("%s describes no backup: %s", key, err)}
	}
	backup := Backup{Name: name, Phase: typed.Status.Phase, Object: object}
	if at := typed.Status.StartTimestamp; at != nil {
		backup.StartedAt = at.Time
	}
	if at := typed.Status.CompletionTimestamp; at != nil {
		backup.EndedAt = at.Time
	}
	if at := typed.Status.Expiration; at != nil {
		backup.ExpiresAt = at.Time
	}
	if progress := typed.Status.Progress; progress != nil {
		backup.Items = int64(progress.ItemsBackedUp)
	}
	return backup, nil
}

// Archive opens the objects of a backup, a tar archive compressed with gzip. IsNotFound tells that there is none. Close it.
func (s *Store) Archive(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.get(ctx, s.key(backupsDir, name, name+".tar.gz"))
}

// maxPacked is how large the list of a backup's objects may be in the bucket, and maxResourceList unpacked, in bytes.
const (
	maxPacked       = 16 << 20
	maxResourceList = 64 << 20
)

// ResourceList reads which objects a backup is said to have: names, as in "shop/web", by kind, as in "apps/v1/Deployment".
// IsNotFound tells that there is none.
func (s *Store) ResourceList(ctx context.Context, name string) (map[string][]string, error) {
	key := s.key(backupsDir, name, name+"-resource-list.json.gz")
	packed, err := s.read(ctx, key, maxPacked)
	if err != nil {
		return nil, err
	}
	list := map[string][]string{}
	raw, err := unpack(packed)
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, s.unreadable(key, "is no list of objects: %s", err)
	}
	return list, nil
}

func unpack(packed []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(unzipped, maxResourceList+1))
	if err == nil && len(raw) > maxResourceList {
		return nil, fmt.Errorf("it has more than %d bytes", maxResourceList)
	}
	return raw, err
}

// read reads a whole object.
func (s *Store) read(ctx context.Context, key string, limit int64) ([]byte, error) {
	body, err := s.get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // What is not read yet is not needed.
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, s.explain(ctx, "read "+key, key, err)
	}
	if int64(len(raw)) > limit {
		return nil, s.unreadable(key, "has more than %d bytes", limit)
	}
	return raw, nil
}

func (s *Store) unreadable(key, format string, args ...any) error {
	return &UnreadableError{fmt.Sprintf("%s in bucket %s ", key, s.location.Bucket) + fmt.Sprintf(format, args...)}
}
