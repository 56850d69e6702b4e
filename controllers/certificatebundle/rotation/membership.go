package rotation

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const (
	// MaxMembershipBytes bounds the names of a Membership before compression. Compression never adds more than a few bytes in
	// 64 KB, so that the result fits into a Secret or ConfigMap (1 MiB).
	MaxMembershipBytes = 900_000
	// membershipFormat is the first byte of an encoded Membership.
	membershipFormat = '1'
	// goneMark precedes the name of a member that is gone.
	goneMark = "-"
	// maxNamespace and maxName are the limits of Kubernetes.
	maxNamespace, maxName = validation.DNS1123LabelMaxLength, validation.DNS1123SubdomainMaxLength
)

// Membership is the set of clusters that take part in a rotation. The zero value is empty. It is a value: methods return
// another one.
type Membership struct {
	// members in the order of their keys, each once.
	members []membershipEntry
}

type membershipEntry struct {
	key  rollout.ClusterKey
	gone bool
}

// Len is how many clusters there are, those included that are gone.
func (m Membership) Len() int { return len(m.members) }

// Has is whether a cluster takes part, and whether it is gone.
func (m Membership) Has(key rollout.ClusterKey) (member, gone bool) {
	at, found := m.find(key)
	return found, found && m.members[at].gone
}

func (m Membership) find(key rollout.ClusterKey) (int, bool) {
	return slices.BinarySearchFunc(m.members, key, func(e membershipEntry, key rollout.ClusterKey) int { return e.key.Compare(key) })
}

// with is the set with these clusters, none of which is gone.
func (m Membership) with(keys []rollout.ClusterKey) Membership {
	union := slices.Clone(m.members)
	for _, key := range keys {
		if at, found := m.find(key); found {
			union[at].gone = false
		} else {
			union = append(union, membershipEntry{key: key})
		}
	}
	slices.SortFunc(union, func(a, b membershipEntry) int { return a.key.Compare(b.key) })
	return Membership{slices.CompactFunc(union, func(a, b membershipEntry) bool { return a.key == b.key })}
}

// without is the set with those of the clusters marked as gone that are in it.
func (m Membership) without(keys []rollout.ClusterKey) Membership {
	marked := Membership{slices.Clone(m.members)}
	for _, key := range keys {
		if at, found := marked.find(key); found {
			marked.members[at].gone = true
		}
	}
	return marked
}

// Reference is what a record says of the set. The object that holds it is named by the hash.
func (m Membership) Reference() Members {
	if len(m.members) == 0 {
		return Members{}
	}
	sum := sha256.Sum256(m.text())
	return Members{Count: int32(len(m.members)), Hash: hex.EncodeToString(sum[:16])}
}

// Fits is whether the set can be stored.
func (m Membership) Fits() bool {
	size := 0
	for _, one := range m.members {
		size += len(goneMark) + len(one.key.Namespace) + len("/") + len(one.key.Name) + len("\n")
	}
	return size <= MaxMembershipBytes
}

func (m Membership) text() []byte {
	var text bytes.Buffer
	for _, one := range m.members {
		if one.gone {
			text.WriteString(goneMark)
		}
		text.WriteString(one.key.Namespace + "/" + one.key.Name + "\n")
	}
	return text.Bytes()
}

// Encode returns the form that is stored. The error says that there are too many clusters.
func (m Membership) Encode() ([]byte, error) {
	if !m.Fits() {
		return nil, fmt.Errorf("the names of %d clusters take more than %d bytes", len(m.members), MaxMembershipBytes)
	}
	encoded := bytes.NewBuffer([]byte{membershipFormat})
	compressor, err := flate.NewWriter(encoded, flate.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress the members: %w", err)
	}
	_, err = compressor.Write(m.text())
	if err := errors.Join(err, compressor.Close()); err != nil {
		return nil, fmt.Errorf("compress the members: %w", err)
	}
	return encoded.Bytes(), nil
}

// DecodeMembership reads what Encode wrote. It takes nothing else, and no more than MaxMembershipBytes of memory for the text.
func DecodeMembership(encoded []byte) (Membership, error) {
	if len(encoded) == 0 || encoded[0] != membershipFormat {
		return Membership{}, errors.New("the members of the rotation are stored in an unknown form")
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(encoded[1:])), MaxMembershipBytes+1))
	switch {
	case err != nil:
		return Membership{}, fmt.Errorf("decompress the members of the rotation: %w", err)
	case len(text) > MaxMembershipBytes:
		return Membership{}, fmt.Errorf("the members of the rotation take more than %d bytes", MaxMembershipBytes)
	}
	var decoded Membership
	for line := range strings.Lines(string(text)) {
		entry, valid := parseMember(line)
		if last := len(decoded.members) - 1; !valid || last >= 0 && decoded.members[last].key.Compare(entry.key) >= 0 {
			return Membership{}, fmt.Errorf("member %d of the rotation is not valid, or not in order", len(decoded.members)+1)
		}
		decoded.members = append(decoded.members, entry)
	}
	return decoded, nil
}

func parseMember(line string) (membershipEntry, bool) {
	line, whole := strings.CutSuffix(line, "\n")
	line, gone := strings.CutPrefix(line, goneMark)
	namespace, name, separated := strings.Cut(line, "/")
	valid := whole && separated && namespace != "" && name != "" && len(namespace) <= maxNamespace && len(name) <= maxName &&
		!strings.ContainsAny(line, " \t\r") && !strings.Contains(name, "/")
	return membershipEntry{rollout.ClusterKey{Namespace: namespace, Name: name}, gone}, valid
}
