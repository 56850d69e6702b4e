package backupstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Put writes an object below the prefix. The storage gets the SHA-256 of the content, which an object lock needs, and by which
// it refuses what was changed on the way.
func (s *Store) Put(ctx context.Context, name string, content []byte) error {
	sum := sha256.Sum256(content)
	key := s.key(name)
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.location.Bucket, Key: &key, Body: bytes.NewReader(content), ContentLength: aws.Int64(int64(len(content))),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	})
	if err != nil {
		return s.explain(ctx, "write "+key, key, err)
	}
	return nil
}
