package revision

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	// ErrNotFound tells that there is no such revision, or it was not written completely.
	ErrNotFound = errors.New("revision not found")
	// ErrTorn tells that the revision's Secrets do not belong together, or some are missing. Removing its first
	// Secret makes the policy write it again.
	ErrTorn = errors.New("revision is torn")
)

const maxChunks = (MaxBytes + chunkBytes - 1) / chunkBytes

// Read returns the canonical content of a revision, checked against its digest and its name. Wraps
// ErrNotFound or ErrTorn where that is the reason. The reader must see whole Secrets: the manager's cache
// holds their metadata only.
func Read(ctx context.Context, reader client.Reader, key client.ObjectKey) ([]byte, error) {
	first, err := get(ctx, reader, key)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	chunks, err := strconv.Atoi(string(first.Data[keyChunks]))
	if err != nil || chunks < 1 || chunks > maxChunks {
		return nil, fmt.Errorf("%s: %w: %q Secrets", key, ErrTorn, first.Data[keyChunks])
	}
	content, err := inflate(nil, first)
	for chunk := 1; chunk < chunks && err == nil; chunk++ {
		content, err = readChunk(ctx, reader, client.ObjectKey{Namespace: key.Namespace, Name: chunkName(key.Name, chunk)}, content)
	}
	if err != nil {
		return nil, err
	}
	digest := digestOf(content)
	if digest != string(first.Data[keyDigest]) || !strings.HasSuffix(key.Name, "-"+digest[:nameDigits]) {
		return nil, fmt.Errorf("%s: %w: its digest is %s", key, ErrTorn, digest)
	}
	return content, nil
}

// ReadAs returns the content of a revision, decoded from what Encode made of it. Its errors are those of Read.
func ReadAs[T any](ctx context.Context, reader client.Reader, key client.ObjectKey) (T, error) {
	var content T
	raw, err := Read(ctx, reader, key)
	if err != nil {
		return content, err
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return content, fmt.Errorf("revision %s: %w", key, err)
	}
	return content, nil
}

func readChunk(ctx context.Context, reader client.Reader, key client.ObjectKey, content []byte) ([]byte, error) {
	secret, err := get(ctx, reader, key)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: Secret %s is missing", ErrTorn, key)
	}
	if err != nil {
		return nil, err
	}
	return inflate(content, secret)
}

func get(ctx context.Context, reader client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("read revision: %w", err)
	}
	if secret.Type != SecretType {
		return nil, fmt.Errorf("%w: Secret %s is of type %q", ErrTorn, key, secret.Type)
	}
	return secret, nil
}

// inflate appends a chunk to the content. It reads no more than a chunk may hold.
func inflate(content []byte, secret *corev1.Secret) ([]byte, error) {
	torn := func(err error) error {
		return fmt.Errorf("%w: Secret %s/%s: %w", ErrTorn, secret.Namespace, secret.Name, err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(secret.Data[keyContent]))
	if err != nil {
		return nil, torn(err)
	}
	chunk, err := io.ReadAll(io.LimitReader(reader, chunkBytes+1))
	if err != nil {
		return nil, torn(err)
	}
	if len(chunk) > chunkBytes {
		return nil, torn(fmt.Errorf("inflates beyond %d bytes", chunkBytes))
	}
	return append(content, chunk...), nil
}
