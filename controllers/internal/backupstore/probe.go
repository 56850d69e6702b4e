package backupstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// History is what becomes of an object that is deleted or written over.
type History string

// Histories.
const (
	// HistoryKept: the bucket keeps versions, and the credentials cannot delete them.
	HistoryKept History = "Kept"
	// HistoryErasable: the bucket keeps versions, and the credentials can delete them.
	HistoryErasable History = "Erasable"
	// HistoryNotKept: the bucket keeps no versions.
	HistoryNotKept History = "NotKept"
)

// Probe is what the storage permits the credentials.
type Probe struct {
	// Refused says which request was refused, and why; empty if all that backups need are permitted.
	Refused string
	// History is empty if that could not be found out.
	History History
}

// Probe writes an object of that name below the prefix, reads it, and deletes it. Then it tries to delete for good what the
// bucket keeps of it. The error tells that the storage did not answer. With HistoryKept, the bucket keeps a version of a
// few bytes with each probe.
func (s *Store) Probe(ctx context.Context, name string) (Probe, error) {
	key, content := s.key(name), []byte("Daytwo probes whether this storage can be written.\n")
	written, err := s.put(ctx, key, content)
	if err != nil {
		return s.refused(ctx, "s3:PutObject", "write "+key, key, err)
	}
	unreadable, err := s.probeReading(ctx, key, content)
	if err != nil {
		return Probe{}, err
	}
	if _, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.location.Bucket, Key: &key}); err != nil {
		return s.refused(ctx, "s3:DeleteObject", "delete "+key, key, err)
	}
	if unreadable.Refused != "" {
		return unreadable, nil
	}
	history, err := s.probeHistory(ctx, key, aws.ToString(written.VersionId))
	return Probe{History: history}, err
}

// refused is a probe that came to its end with an answer of the storage.
func (s *Store) refused(ctx context.Context, right, what, key string, err error) (Probe, error) {
	explained := s.explain(ctx, what, key, err)
	if !isAnswer(err) {
		return Probe{}, explained
	}
	return Probe{Refused: fmt.Sprintf("%s; they need %s below the prefix", explained, right)}, nil
}

// isAnswer is whether an error is what the storage says, and not that it says nothing.
func isAnswer(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer)
}

func (s *Store) probeReading(ctx context.Context, key string, want []byte) (Probe, error) {
	answer, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.location.Bucket, Key: &key})
	if err != nil {
		return s.refused(ctx, "s3:GetObject", "read "+key, key, err)
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(io.LimitReader(answer.Body, int64(len(want))+1))
	switch {
	case err != nil:
		return Probe{}, s.explain(ctx, "read "+key, key, err)
	case !bytes.Equal(got, want):
		return Probe{Refused: fmt.Sprintf("%s in bucket %s does not hold what was written into it", key, s.location.Bucket)}, nil
	}
	return Probe{}, nil
}

// probeHistory tries to delete a version, also in spite of an object lock that may be passed over with a right of its own.
func (s *Store) probeHistory(ctx context.Context, key, version string) (History, error) {
	if version == "" || version == "null" { // A bucket whose versions are suspended calls them all null.
		return HistoryNotKept, nil
	}
	for _, bypass := range []*bool{nil, aws.Bool(true)} {
		_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.location.Bucket, Key: &key, VersionId: &version, BypassGovernanceRetention: bypass})
		switch {
		case err == nil:
			return HistoryErasable, nil
		case !isAnswer(err):
			return "", s.explain(ctx, "delete a version of "+key, key, err)
		}
	}
	return HistoryKept, nil
}
