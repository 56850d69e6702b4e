package download

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
)

// checksum is the SHA-256 or SHA-512 of a file, in hex.
type checksum string

// parseChecksum tells by its length which of the two a text is.
func parseChecksum(text string) (checksum, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || (len(raw) != sha256.Size && len(raw) != sha512.Size) {
		return "", false
	}
	return checksum(strings.ToLower(text)), true
}

func (c checksum) hash() hash.Hash {
	if len(c) == hex.EncodedLen(sha512.Size) {
		return sha512.New()
	}
	return sha256.New()
}

func (c checksum) algorithm() string {
	if len(c) == hex.EncodedLen(sha512.Size) {
		return "SHA-512"
	}
	return "SHA-256"
}

// Pins are the checksums that are known beforehand, by URL.
type Pins map[string]checksum

// ParsePins reads lines of a SHA-256 or SHA-512 in hex and a URL. Empty lines and lines that begin with # mean nothing.
func ParsePins(from io.Reader) (Pins, error) {
	pins := Pins{}
	lines := bufio.NewScanner(from)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		sum, ok := parseChecksum(fields[0])
		if !ok || len(fields) != 2 || !strings.HasPrefix(fields[1], "https://") {
			return nil, fmt.Errorf("line %d is not a SHA-256 or SHA-512 in hex and a URL with https: %q", number, lines.Text())
		}
		pins[fields[1]] = sum
	}
	return pins, lines.Err()
}

// Of returns what the pins say of files, the same text for the same pins.
func (p Pins) Of(files []File) string {
	var said []string
	for _, file := range files {
		said = append(said, string(p[file.URL]))
	}
	return strings.Join(said, " ")
}

// published finds the checksum of a file in what its publisher says: the checksum alone, lines as sha256sum writes
// them, or a release as GitHub describes it.
func published(document []byte, file string) (checksum, bool) {
	name := path.Base(file)
	if bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return ofRelease(document, name)
	}
	if sum, ok := parseChecksum(string(bytes.TrimSpace(document))); ok {
		return sum, true
	}
	for line := range strings.Lines(string(document)) {
		// An asterisk in front of the name says that the file was read as binary.
		if fields := strings.Fields(line); len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == name {
			return parseChecksum(fields[0])
		}
	}
	return "", false
}

// ofRelease finds the checksum of an asset in a release as GitHub's API describes it.
func ofRelease(document []byte, name string) (checksum, bool) {
	var release struct {
		Assets []struct{ Name, Digest string }
	}
	if err := json.Unmarshal(document, &release); err != nil {
		return "", false
	}
	for _, asset := range release.Assets {
		algorithm, digest, _ := strings.Cut(asset.Digest, ":")
		if asset.Name == name && algorithm == "sha256" {
			return parseChecksum(digest)
		}
	}
	return "", false
}
