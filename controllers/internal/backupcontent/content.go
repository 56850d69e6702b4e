// Package backupcontent is the form of a BackupPolicy's revisions: backuppolicy writes it, backupenrollment reads it.
// Neither imports the other, so what the pair agrees on stands here.
package backupcontent

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// Content is what a revision of a BackupPolicy holds. Credentials are not in it: a cluster gets new ones at once.
type Content struct {
	// VeleroNamespace is where Velero is in the clusters.
	VeleroNamespace string `json:"veleroNamespace"`
	// Cron and TimeZone are when backups start, and Spread over how long the clusters are distributed from there, in
	// nanoseconds.
	Cron     string        `json:"cron"`
	TimeZone string        `json:"timeZone,omitempty"`
	Spread   time.Duration `json:"spread"`
	// Template of the backups.
	Template backupv1alpha1.BackupTemplate `json:"template"`
	// TTL of a backup, in nanoseconds, KeepLast how many good ones stay beyond it, and VeleroTTL the longer one that Velero
	// knows of.
	TTL       time.Duration `json:"ttl"`
	KeepLast  int32         `json:"keepLast,omitempty"`
	VeleroTTL time.Duration `json:"veleroTTL,omitempty"`
	// Storage is where they go.
	Storage Storage `json:"storage"`
}

// Storage is a bucket.
type Storage struct {
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix"`
	Region   string `json:"region"`
	Endpoint string `json:"endpoint,omitempty"`
	// CA is what the endpoint is trusted by, in PEM; empty for what the system trusts.
	CA string `json:"ca,omitempty"`
	// ChecksumAlgorithm that Velero sends; empty for what it does by default.
	ChecksumAlgorithm string `json:"checksumAlgorithm,omitempty"`
}

// Starts reads when backups start. An error is one that only a person can mend.
func (c Content) Starts() (schedule.Recurrence, *schedule.FieldError) {
	return schedule.Parse(c.Cron, c.TimeZone)
}

// Read returns the content of a BackupPolicy's revision. Its errors are those of revision.Read.
func Read(ctx context.Context, reader client.Reader, key client.ObjectKey) (Content, error) {
	return revision.ReadAs[Content](ctx, reader, key)
}
