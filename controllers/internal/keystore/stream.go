package keystore

import (
	"crypto/hkdf"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
)

const (
	// streamVersion changes when the stream does, so that no salt is used with two forms of content.
	streamVersion = "daytwo.dev/keystore/v1"
	// stretchRounds are those of PBKDF2-HMAC-SHA-256, some 2 ms. The formats have 2048 at most.
	stretchRounds = 10_000
)

// stream is where the libraries read salts and initialization vectors. It never ends.
type stream struct {
	secret  []byte
	purpose string
	reads   int
}

// deriveSecret makes the secret of all streams of a material, its password and its options.
func deriveSecret(parsed issuance.Parsed, password string, options ...string) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(parsed.Key)
	if err != nil {
		return nil, fmt.Errorf("encode the private key: %w", err)
	}
	salt := sha256.Sum256(key)
	stretched, err := pbkdf2.Key(sha256.New, password, salt[:], stretchRounds, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("stretch the password: %w", err)
	}
	content := appendSized(nil, stretched, key)
	for _, list := range [][]*x509.Certificate{parsed.Chain, parsed.Authorities} {
		content = binary.BigEndian.AppendUint64(content, uint64(len(list)))
		for _, certificate := range list {
			content = appendSized(content, certificate.Raw)
		}
	}
	for _, option := range options {
		content = appendSized(content, []byte(option))
	}
	secret, err := hkdf.Extract(sha256.New, content, []byte(streamVersion))
	if err != nil {
		return nil, fmt.Errorf("derive the secret of salts: %w", err)
	}
	return secret, nil
}

// appendSized writes the length before each part, so that different parts never make the same content.
func appendSized(content []byte, parts ...[]byte) []byte {
	for _, part := range parts {
		content = slices.Concat(binary.BigEndian.AppendUint64(content, uint64(len(part))), part)
	}
	return content
}

// newStream returns the stream of a file, which its purpose names.
func newStream(secret []byte, purpose string) *stream {
	return &stream{secret: secret, purpose: purpose}
}

// Read implements io.Reader. It always fills the buffer, which the libraries count on. Each call gives bytes of its own.
func (s *stream) Read(buffer []byte) (int, error) {
	s.reads++
	derived, err := hkdf.Expand(sha256.New, s.secret, fmt.Sprintf("%s/%d", s.purpose, s.reads), len(buffer))
	if err != nil {
		return 0, fmt.Errorf("derive a salt: %w", err)
	}
	return copy(buffer, derived), nil
}
