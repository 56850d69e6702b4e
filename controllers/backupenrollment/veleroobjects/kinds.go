package veleroobjects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds of Velero's objects, and what they are served as.
var (
	GroupVersion = schema.GroupVersion{Group: "velero.io", Version: "v1"}
	BackupKind   = GroupVersion.WithKind("Backup")
	LocationKind = GroupVersion.WithKind("BackupStorageLocation")
	ScheduleKind = GroupVersion.WithKind("Schedule")
	DeletionKind = GroupVersion.WithKind("DeleteBackupRequest")
)

// PhaseOf an object of Velero's; empty for one that is not there, or has none yet.
func PhaseOf(object *unstructured.Unstructured) string {
	if object == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	return phase
}
