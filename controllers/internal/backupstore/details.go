package backupstore

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxObjects is how many objects of one backup are counted, which is one page of a listing. Velero writes a dozen.
	maxObjects = 1000
	// maxDetails is how large a file with details may be in the bucket, and maxDetailsUnpacked unpacked, in bytes. They are
	// read as a stream.
	maxDetails         = 4 << 20
	maxDetailsUnpacked = 8 << 20
)

// Details are what a bucket tells of a backup beside its description.
type Details struct {
	// Bytes of all objects of the backup. Data of volumes is elsewhere.
	Bytes int64
	// Problems are the first errors that Velero met, at most 5, and then warnings.
	Problems []Problem
	// Volumes of the cluster that the backup knows of; nil where Velero wrote nothing about them.
	Volumes *Volumes
}

// Details reads what the bucket tells of a backup. IsNotFound tells that there is nothing of it, IsUnreadable that what is
// there is too large, or is not what it is called.
func (s *Store) Details(ctx context.Context, name string) (Details, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Details{}, &UnreadableError{fmt.Sprintf("%q is no name of a backup", name)}
	}
	var details Details
	var err error
	if details.Bytes, err = s.size(ctx, name); err != nil {
		return Details{}, err
	}
	err = s.unpackEach(ctx, s.key(backupsDir, name, name+"-results.gz"), func(content io.Reader) (err error) {
		details.Problems, err = readProblems(content)
		return err
	})
	if err != nil && !IsNotFound(err) {
		return Details{}, err
	}
	err = s.unpackEach(ctx, s.key(backupsDir, name, name+"-volumeinfo.json.gz"), func(content io.Reader) (err error) {
		details.Volumes, err = readVolumes(content)
		return err
	})
	if err != nil && !IsNotFound(err) {
		return Details{}, err
	}
	return details, nil
}

// size of a backup in bytes.
func (s *Store) size(ctx context.Context, name string) (int64, error) {
	dir := s.key(backupsDir, name) + "/"
	page, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.location.Bucket, Prefix: &dir, MaxKeys: aws.Int32(maxObjects)})
	switch {
	case err != nil:
		return 0, s.explain(ctx, "list "+dir, dir, err)
	case len(page.Contents) == 0:
		return 0, &NotFoundError{Bucket: s.location.Bucket, Key: dir}
	case aws.ToBool(page.IsTruncated) || len(page.Contents) > maxObjects:
		return 0, s.unreadable(dir, "has more than %d objects", maxObjects)
	}
	var size int64
	for _, object := range page.Contents {
		if size += max(0, aws.ToInt64(object.Size)); size < 0 {
			return 0, s.unreadable(dir, "has objects of impossible sizes")
		}
	}
	return size, nil
}

// unpackEach reads an object that is compressed with gzip as a stream.
func (s *Store) unpackEach(ctx context.Context, key string, read func(io.Reader) error) error {
	body, err := s.get(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // What is not read yet is not needed.
	unpacked, err := gzip.NewReader(http.MaxBytesReader(nil, body, maxDetails))
	if err == nil {
		err = read(http.MaxBytesReader(nil, unpacked, maxDetailsUnpacked))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return s.explain(ctx, "read "+key, key, err)
	case errors.As(err, &tooLarge):
		return s.unreadable(key, "has more than %d bytes", tooLarge.Limit)
	}
	return s.unreadable(key, "cannot be read: %s", rootOf(err))
}
