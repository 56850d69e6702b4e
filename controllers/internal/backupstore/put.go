package backupstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Put writes an object below the prefix.
func (s *Store) Put(ctx context.Context, name string, content []byte) error {
	key := s.key(name)
	if _, err := s.put(ctx, key, content); err != nil {
		return s.explain(ctx, "write "+key, key, err)
	}
	return nil
}

// put writes an object. The storage gets the SHA-256 of the content, which an object lock needs, and by which it refuses what
// was changed on the way.
func (s *Store) put(ctx context.Context, key string, content []byte) (*s3.PutObjectOutput, error) {
	sum := sha256.Sum256(content)
	return s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.location.Bucket, Key: &key, Body: bytes.NewReader(content), ContentLength: aws.Int64(int64(len(content))),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	})
}
