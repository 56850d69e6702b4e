package backuppolicy

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/reference"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

// maxKept is how many backups of a cluster a policy may keep by its schedule. Enrollments watch 500, which leaves room for
// those that people make, and for what has expired and is not deleted yet.
const maxKept = 400

// Content implements policy.Kind.
func (r *Reconciler) Content(_ context.Context, backups *backupv1alpha1.BackupPolicy, now time.Time) (policy.Content[*backupv1alpha1.BackupPolicy], error) {
	if problem := r.Checker.Check(backups, now); problem != nil {
		return policy.Content[*backupv1alpha1.BackupPolicy]{Stall: problem.stall()}, nil
	}
	return policy.Content[*backupv1alpha1.BackupPolicy]{
		Read: func(ctx context.Context) ([]byte, *policy.Stall, error) {
			content, stall, err := r.readContent(ctx, backups)
			if stall != nil || err != nil {
				return nil, stall, err
			}
			raw, err := revision.Encode(content)
			return raw, nil, err
		},
	}, nil
}

// Problem is what a person has to mend in a policy.
type Problem struct {
	// Field of the policy, as in "spec.schedule.cron".
	Field   string
	Message string
}

func (p *Problem) stall() *policy.Stall {
	return &policy.Stall{Reason: metav1alpha1.ReasonInvalidSpec, Message: p.Field + ": " + p.Message}
}

// Checker tells what is wrong with policies.
type Checker struct {
	// AllowBackupHooks lets policies run commands in the pods of customers.
	AllowBackupHooks bool
}

// Check returns what is wrong with a policy, beside what its definition says; nil for nothing.
func (c Checker) Check(backups *backupv1alpha1.BackupPolicy, now time.Time) *Problem {
	content := contentOf(backups)
	starts, refused := content.Starts()
	switch {
	case refused != nil && refused.Field == schedule.FieldTimeZone:
		return &Problem{"spec.schedule.timeZone", refused.Err.Error()}
	case refused != nil:
		return &Problem{"spec.schedule.cron", refused.Err.Error()}
	}
	if err := starts.CheckSpread(content.Spread, now); err != nil {
		return &Problem{"spec.schedule.cron", fmt.Sprintf("%q cannot be spread over %s: %s", backups.Spec.Schedule.Cron, content.Spread, err)}
	}
	if starts.Exceeds(maxKept-int(content.KeepLast), now, content.TTL) {
		return &Problem{"spec.retention.ttl", fmt.Sprintf("there would be more than %d backups of a cluster at a time, with the %d of keepLast: choose a shorter one than %s, or back up less often",
			maxKept, content.KeepLast, content.TTL)}
	}
	if problem := c.checkTemplate(backups.Spec); problem != nil {
		return problem
	}
	if problem := checkBlackouts(backups.Spec.Schedule.Blackouts); problem != nil {
		return problem
	}
	return checkPlans(backups.Spec.Drills, backups.Spec.Objectives.MaxDrillAge)
}

func contentOf(backups *backupv1alpha1.BackupPolicy) backupcontent.Content {
	spec := &backups.Spec
	content := backupcontent.Content{
		VeleroNamespace: spec.VeleroNamespace,
		Cron:            spec.Schedule.Cron, TimeZone: spec.Schedule.TimeZone,
		Template: *spec.Template.DeepCopy(),
		Storage: backupcontent.Storage{
			Bucket: spec.Storage.Bucket, Prefix: spec.Storage.Prefix, Region: spec.Storage.Region, Endpoint: spec.Storage.Endpoint,
			ChecksumAlgorithm: spec.Storage.ChecksumAlgorithm,
		},
	}
	if spread := spec.Schedule.Spread; spread != nil {
		content.Spread = spread.Duration
	}
	if ttl := spec.Retention.TTL; ttl != nil {
		content.TTL = ttl.Duration
	}
	content.KeepLast = max(1, spec.Retention.KeepLast)
	return content
}

func (r *Reconciler) readContent(ctx context.Context, backups *backupv1alpha1.BackupPolicy) (backupcontent.Content, *policy.Stall, error) {
	content := contentOf(backups)
	if starts, refused := content.Starts(); refused == nil {
		content.VeleroTTL = veleroTTL(starts, content.TTL, content.KeepLast)
	}
	ref := backups.Spec.Storage.CARef
	if ref == nil {
		return content, nil, nil
	}
	const field = "spec.storage.caRef"
	config, stall, err := reference.ConfigMap(ctx, r.APIReader, types.NamespacedName{Namespace: backups.Namespace, Name: ref.Name}, field)
	if stall != nil || err != nil {
		return content, stall, err
	}
	content.Storage.CA = config.Data[ref.Key]
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(content.Storage.CA)) {
		problem := &Problem{field, fmt.Sprintf("the key %s of ConfigMap %s/%s holds no certificate in PEM", ref.Key, backups.Namespace, ref.Name)}
		return content, problem.stall(), nil
	}
	return content, nil, nil
}

// References implements policy.Kind.
func (r *Reconciler) References(backups *backupv1alpha1.BackupPolicy) []policy.Reference {
	if ref := backups.Spec.Storage.CARef; ref != nil {
		return []policy.Reference{{Kind: "ConfigMap", Name: ref.Name}}
	}
	return nil
}
