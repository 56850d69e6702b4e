package veleroobjects

import (
	"crypto/sha256"
	"encoding/hex"
)

// Credentials are what a cluster's Velero is known by to the storage.
type Credentials struct {
	// File is an AWS credentials file.
	File string
	// Version of the Secret that they are from.
	Version string
}

// Key of the Secret in the cluster, which differs with what it holds: Velero looks at the storage again when the
// BackupStorageLocation changes, and not when the Secret does.
func (c Credentials) Key() string {
	sum := sha256.Sum256([]byte(c.File))
	return "cloud-" + hex.EncodeToString(sum[:4])
}
