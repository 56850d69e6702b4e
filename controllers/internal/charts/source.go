package charts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Source names a chart as a policy does.
type Source struct {
	// Repository is https://host/path or oci://host/path, without user, query or fragment.
	Repository string
	// Name of the chart. In a registry it is the last part of the repository's name.
	Name string
	// Version is exact (1.2.3) or a range (1.x, ">=1.2 <2", "*"). Two numbers (1.2) are a range. As
	// in Helm, a range holds prereleases only if it names one (">=1.2.0-0").
	Version string
	// Credentials are sent to the host of Repository only; nil for none.
	Credentials *Credentials
	// CA is PEM, and replaces the system's roots; nil for those.
	CA []byte
	// Digest is sha256:<64 hex> of the packed archive. What has another one is refused; empty takes any.
	Digest string
}

// Chart is what a Source led to.
type Chart struct {
	Name    string
	Version string
	// Digest is sha256:<64 hex> of Archive.
	Digest string
	// Archive is the chart as it was packed. It is shared: do not change it.
	Archive []byte
}

// Credentials of one repository. They print, log and marshal without their values.
type Credentials struct {
	Username string `json:"-"`
	Password string `json:"-"`
}

const redacted = "(credentials)"

// String says that there are credentials.
func (Credentials) String() string { return redacted }

// GoString keeps %#v from printing credentials.
func (Credentials) GoString() string { return redacted }

// MarshalLog keeps structured logs (logr.Marshaler) from printing credentials.
func (Credentials) MarshalLog() any { return redacted }

// fingerprint is equal exactly for equal Sources.
func (s Source) fingerprint() string {
	fields := []string{s.Repository, s.Name, s.Version, s.Digest, string(s.CA)}
	if s.Credentials != nil {
		fields = append(fields, s.Credentials.Username, s.Credentials.Password)
	}
	return hashOf(fields...)
}

// hashOf is one-way, and tells apart what differs in any field.
func hashOf(fields ...string) string {
	hash := sha256.New()
	for _, field := range fields {
		// The length keeps a byte that moves from one field to the next from going unnoticed.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		hash.Write([]byte(field))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// digestOf is sha256:<64 hex>.
func digestOf(archive []byte) string {
	sum := sha256.Sum256(archive)
	return digestPrefix + hex.EncodeToString(sum[:])
}
