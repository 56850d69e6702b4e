package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ShortName is a readable name that is cut to a limit, with 8 hex digits of the SHA-256 of a key behind it: names that begin
// the same stay apart, and the name follows from the key. The limit is more than 9 bytes.
func ShortName(limit int, readable, key string) string {
	sum := sha256.Sum256([]byte(key))
	suffix := "-" + hex.EncodeToString(sum[:4])
	return strings.TrimRight(readable[:min(len(readable), limit-len(suffix))], "-.") + suffix
}
