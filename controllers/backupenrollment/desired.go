package backupenrollment

import (
	"encoding/base64"
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

var (
	veleroVersion = schema.GroupVersion{Group: "velero.io", Version: "v1"}
	backupKind    = veleroVersion.WithKind("Backup")
	locationKind  = veleroVersion.WithKind("BackupStorageLocation")
	scheduleKind  = veleroVersion.WithKind("Schedule")
	deletionKind  = veleroVersion.WithKind("DeleteBackupRequest")
)

const (
	// maxName leaves room for what Velero appends to the name of a Schedule: a Backup's name is also a label, which has up
	// to 63 characters (velero issue 3035).
	maxName = 48
	// validateEvery is how often Velero looks whether the storage can be used. Each look costs a write in the cluster.
	validateEvery = 5 * time.Minute
	// validateBroken is how often it looks while the storage cannot be used. Velero may see the name of new credentials before
	// the Secret that holds them.
	validateBroken = 30 * time.Second
)

// policyOf an enrollment.
func policyOf(enrollment *backupv1alpha1.BackupEnrollment) types.NamespacedName {
	return types.NamespacedName{Namespace: enrollment.Namespace, Name: enrollment.Labels[metav1alpha1.LabelPolicy]}
}

// objectName is what a policy's objects are called in every cluster.
func objectName(policy types.NamespacedName) string {
	return objects.ShortName(maxName, policy.Name, policy.String())
}

// arrange decides what an enrollment has in its cluster from now on. What follows from the cluster's identity stays as it
// was decided before.
func arrange(was *backupv1alpha1.VeleroObjects, content backupcontent.Content, policy types.NamespacedName, id types.UID, now time.Time) (*backupv1alpha1.VeleroObjects, error) {
	starts, refused := content.Starts()
	if refused != nil {
		return nil, refused
	}
	expression, until, err := starts.InUTC(schedule.Offset(policy.String()+"/"+string(id), content.Spread), now)
	if err != nil {
		return nil, err
	}
	arranged := &backupv1alpha1.VeleroObjects{
		Namespace: content.VeleroNamespace, Name: objectName(policy), Cron: expression,
		Prefix: prefixIn(content, policy, id),
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

// desired are the objects that Velero works with.
func desired(
	content backupcontent.Content, arranged *backupv1alpha1.VeleroObjects, access credentials, template map[string]any,
) ([]*unstructured.Unstructured, error) {
	list := []*unstructured.Unstructured{
		newObject(arranged, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, map[string]any{
			"type": "Opaque",
			"data": map[string]any{access.key(): base64.StdEncoding.EncodeToString([]byte(access.file))},
		}),
		newObject(arranged, locationKind, map[string]any{"spec": locationSpec(content.Storage, arranged, access)}),
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
	starts := newObject(arranged, scheduleKind, map[string]any{"spec": map[string]any{
		"schedule": arranged.Cron, "useOwnerReferencesInBackup": false, "template": template,
	}})
	pause(starts, arranged)
	return starts
}

func newObject(arranged *backupv1alpha1.VeleroObjects, kind schema.GroupVersionKind, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(arranged.Namespace)
	object.SetName(arranged.Name)
	return object
}

func locationSpec(storage backupcontent.Storage, arranged *backupv1alpha1.VeleroObjects, access credentials) map[string]any {
	spec := storage.Location(arranged.Prefix, map[string]any{"name": arranged.Name, "key": access.key()})
	spec["validationFrequency"] = arranged.ValidationFrequency.Duration.String()
	return spec
}

// backupSpec is the template of the Schedule. Velero's own objects are never in a backup: they would be restored.
func backupSpec(content backupcontent.Content, arranged *backupv1alpha1.VeleroObjects) (map[string]any, error) {
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
