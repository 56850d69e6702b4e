package revision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

const (
	// MaxBytes is how large a policy's content may be before it is compressed: a chart of 20 MiB, in
	// base64, and its values.
	MaxBytes = 32 << 20

	// chunkBytes of content go into one Secret. Content that does not compress grows by some 100
	// bytes, so a Secret stays below 900 KB, within etcd's default limit for a request.
	chunkBytes = 880_000

	nameDigits  = 10
	labelDigits = 32
)

// TooLargeError tells that a policy's content is beyond MaxBytes.
type TooLargeError struct {
	Policy string
	Bytes  int
}

// Error says what to do about it.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the content of policy %s is %d bytes, more than the limit of %d: split it into several policies",
		e.Policy, e.Bytes, MaxBytes)
}

// Snapshot is a policy's content, ready to be stored.
type Snapshot struct {
	// Name of the revision.
	Name string
	// Label is the value of the label daytwo.dev/revision: the digest's first 32 hex digits.
	Label  string
	digest string
	// secrets is the number of chunks, also where the chunks themselves have been let go.
	secrets int
	chunks  [][]byte
}

// Encode makes a canonical form of a policy's content: JSON, with the fields of structs in
// their order and the keys of maps sorted. Fields may be added to a content type, with omitempty;
// anything else changes the revisions of existing policies.
func Encode(content any) ([]byte, error) {
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, fmt.Errorf("encode content: %w", err)
	}
	return canonical.Bytes(), nil
}

// EncodeSnapshot makes a revision of the canonical form of a policy's content, as NewSnapshot does.
func EncodeSnapshot(policy string, content any) (*Snapshot, error) {
	encoded, err := Encode(content)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", policy, err)
	}
	return NewSnapshot(policy, encoded)
}

// NewSnapshot makes a revision of a policy's content, in the form that its kind chose: the same bytes are the same
// revision. The content must not be changed afterwards. Returns a *TooLargeError for content beyond MaxBytes.
func NewSnapshot(policy string, content []byte) (*Snapshot, error) {
	if len(content) > MaxBytes {
		return nil, &TooLargeError{Policy: policy, Bytes: len(content)}
	}
	digest := digestOf(content)
	chunks := slices.Collect(slices.Chunk(content, chunkBytes))
	return &Snapshot{
		Name:    nameOf(policy, digest),
		Label:   digest[:labelDigits],
		digest:  digest,
		secrets: len(chunks),
		chunks:  chunks,
	}, nil
}

// WithoutContent is the snapshot for keeping in memory once it is stored. It cannot be written.
func (s *Snapshot) WithoutContent() *Snapshot {
	return &Snapshot{Name: s.Name, Label: s.Label, digest: s.digest, secrets: s.secrets}
}

// StoredIn is whether a revision with this content is among the stored ones, complete.
func (s *Snapshot) StoredIn(stored []Stored) bool {
	return slices.ContainsFunc(stored, func(other Stored) bool {
		return other.Label == s.Label && other.Complete && len(other.Secrets) == s.secrets
	})
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// nameOf needs no truncation: policies' names have at most 63 characters, Secrets' 253.
func nameOf(policy, digest string) string {
	return policy + "-" + digest[:nameDigits]
}

func chunkName(revision string, chunk int) string {
	if chunk == 0 {
		return revision
	}
	return fmt.Sprintf("%s-%d", revision, chunk)
}
