package veleroobjects

import (
	"encoding/base64"
	"path"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

const (
	// maxName leaves room for what Velero appends to the name of a Schedule: a Backup's name is also a label, which has up
	// to 63 characters (velero issue 3035).
	maxName = 48
	// ValidateEvery is how often Velero looks whether the storage can be used. Each look costs a write in the cluster.
	ValidateEvery = 5 * time.Minute
	// ValidateBroken is how often it looks while the storage cannot be used. Velero may see the name of new credentials before
	// the Secret that holds them.
	ValidateBroken = 30 * time.Second
)

// PolicyOf an enrollment.
func PolicyOf(enrollment *backupv1alpha1.BackupEnrollment) types.NamespacedName {
	return types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Labels[metav1alpha1.LabelPolicy]}
}

// NameFor is what a policy's objects are called in every cluster.
func NameFor(policy types.NamespacedName) string {
	return objects.ShortName(maxName, policy.Name, policy.String())
}

// Arrange decides what an enrollment has in its cluster from now on. What follows from the cluster's identity stays as it
// was decided before.
func Arrange(was *backupv1alpha1.VeleroObjects, content backupcontent.Content, policy types.NamespacedName, id types.UID, now time.Time) (*backupv1alpha1.VeleroObjects, error) {
	recurrence, refused := content.Starts()
	if refused != nil {
		return nil, refused
	}
	expression, until, err := recurrence.InUTC(schedule.Offset(policy.String()+"/"+string(id), content.Spread), now)
	if err != nil {
		return nil, err
	}
	arranged := &backupv1alpha1.VeleroObjects{
		Namespace: content.VeleroNamespace, Name: NameFor(policy), Cron: expression,
		Prefix: PrefixIn(content, policy, id),
		TTL:    &metav1.Duration{Duration: content.TTL}, KeepLast: content.KeepLast,
	}
	if was != nil {
		arranged.Prefix = was.Prefix
	}
	arranged.StartsSince = startsSince(was, expression, now)
	if !until.IsZero() {
		at := metav1.NewTime(until)
		arranged.Until = &at
	}
	return arranged, nil
}

// Desired are the objects that Velero works with.
func Desired(
	content backupcontent.Content, arranged *backupv1alpha1.VeleroObjects, access Credentials, template map[string]any,
) ([]*unstructured.Unstructured, error) {
	list := []*unstructured.Unstructured{
		newObject(arranged, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, map[string]any{
			"type": "Opaque",
			"data": map[string]any{access.Key(): base64.StdEncoding.EncodeToString([]byte(access.File))},
		}),
		newObject(arranged, LocationKind, map[string]any{"spec": locationSpec(content.Storage, arranged, access)}),
	}
	if policies := content.Template.ResourcePolicies; policies != nil {
		object, err := policiesObject(*policies, arranged)
		if err != nil {
			return nil, err
		}
		list = append(list, object)
	}
	return append(list, scheduleObject(arranged, template)), nil
}

// scheduleObject is what Velero makes backups by.
func scheduleObject(arranged *backupv1alpha1.VeleroObjects, template map[string]any) *unstructured.Unstructured {
	// Velero sets skipImmediately itself. An owner reference would have a Schedule that is deleted take its Backups
	// along, and the sync bring them back (velero issue 4093).
	declared := newObject(arranged, ScheduleKind, map[string]any{"spec": map[string]any{
		"schedule": arranged.Cron, "useOwnerReferencesInBackup": false, "template": template,
	}})
	pause(declared, arranged)
	return declared
}

func newObject(arranged *backupv1alpha1.VeleroObjects, kind schema.GroupVersionKind, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(arranged.Namespace)
	object.SetName(arranged.Name)
	return object
}

func locationSpec(storage backupcontent.Storage, arranged *backupv1alpha1.VeleroObjects, access Credentials) map[string]any {
	spec := storage.Location(arranged.Prefix, map[string]any{"name": arranged.Name, "key": access.Key()})
	spec["validationFrequency"] = arranged.ValidationFrequency.Duration.String()
	return spec
}

// BackupSpec is the template of the Schedule. Velero's own objects are never in a backup: they would be restored.
func BackupSpec(content backupcontent.Content, arranged *backupv1alpha1.VeleroObjects) (map[string]any, error) {
	template := content.Template
	template.ExcludedNamespaces = append(template.ExcludedNamespaces[:len(template.ExcludedNamespaces):len(template.ExcludedNamespaces)], arranged.Namespace)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		return nil, err
	}
	if delete(spec, "resourcePolicies"); template.ResourcePolicies != nil {
		spec["resourcePolicy"] = map[string]any{"kind": policiesReference, "name": arranged.Name}
	}
	spec["storageLocation"] = arranged.Name
	// Daytwo deletes what has expired. Velero would delete the last good backup too.
	spec["ttl"] = max(content.TTL, content.VeleroTTL).String()
	// Without labels of its own a Backup has those of the Schedule, by which Daytwo knows what it applied.
	spec["metadata"] = map[string]any{"labels": map[string]any{metav1alpha1.LabelBackup: arranged.Name}}
	return spec, nil
}

// pause adds to a Schedule what a blackout asks for.
func pause(declared *unstructured.Unstructured, arranged *backupv1alpha1.VeleroObjects) {
	if arranged.Paused {
		declared.Object["spec"].(map[string]any)["paused"] = true
	}
	if arranged.SkippedUntil != nil {
		declared.Object["status"] = map[string]any{"lastSkipped": arranged.SkippedUntil.UTC().Format(time.RFC3339)}
	}
}

// startsSince is since when backups start by an expression. Another expression for the same times, as the clock of the time
// zone was set, is no other schedule.
func startsSince(was *backupv1alpha1.VeleroObjects, expression string, now time.Time) *metav1.Time {
	if was != nil && (was.Cron == expression || was.Until != nil && !now.Before(was.Until.Time)) {
		return was.StartsSince
	}
	at := metav1.NewTime(now).Rfc3339Copy()
	return &at
}

// PrefixIn the bucket is where the backups of a cluster are.
func PrefixIn(content backupcontent.Content, policy types.NamespacedName, cluster types.UID) string {
	return path.Join(content.Storage.Prefix, policy.Namespace, policy.Name, string(cluster))
}
