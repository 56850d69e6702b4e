package drdrill

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/recovery"
)

var (
	veleroVersion = schema.GroupVersion{Group: "velero.io", Version: "v1"}
	backupKind    = veleroVersion.WithKind("Backup")
	locationKind  = veleroVersion.WithKind("BackupStorageLocation")
	restoreKind   = veleroVersion.WithKind("Restore")

	coreVersion   = schema.GroupVersion{Version: "v1"}
	namespaceKind = coreVersion.WithKind("Namespace")
	quotaKind     = coreVersion.WithKind("ResourceQuota")
	configMapKind = coreVersion.WithKind("ConfigMap")
	secretKind    = coreVersion.WithKind("Secret")
	networkKind   = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	jobKind       = batchv1.SchemeGroupVersion.WithKind("Job")
)

// ownName is that of the objects that a drill has in each of its namespaces.
const ownName = "daytwo-drill"

// credentialsKey is the key of the Secret with the credentials.
const credentialsKey = "cloud"

// Object implements run.Kind.
func (r *Reconciler) Object(ctx context.Context, v view, action string) (*unstructured.Unstructured, error) {
	drill := v.Run
	if object := sandboxObject(drill, action); object != nil {
		return object, nil
	}
	switch action {
	case actionCredentials, actionLocation, actionBackup:
		object, err := r.standbyObject(ctx, drill, action)
		var wrong *mistake
		if errors.As(err, &wrong) {
			return nil, refuse("%s", wrong)
		}
		return object, err
	case actionModifiers:
		return modifiersObject(drill)
	case actionRestore:
		return restoreObject(drill), nil
	}
	if job, err := jobObject(drill, action); job != nil || err != nil {
		return job, err
	}
	return nil, fmt.Errorf("action %s is none of a DRDrill's", action)
}

// sandboxObject is what a drill has in its namespaces, and these themselves; nil for other actions.
func sandboxObject(drill *backupv1alpha1.DRDrill, action string) *unstructured.Unstructured {
	for i, namespace := range drill.Status.Namespaces {
		switch action {
		case numbered(actionNamespace, i):
			object := newObject(namespaceKind, "", namespace.RestoredAs, nil)
			// Velero leaves out of backups what is in a namespace with this label.
			object.SetLabels(map[string]string{velerov1.ExcludeFromBackupLabel: "true", metav1alpha1.LabelDrill: drill.Name})
			return object
		case numbered(actionQuota, i):
			return newObject(quotaKind, namespace.RestoredAs, ownName, map[string]any{"spec": map[string]any{"hard": hardLimits(drill)}})
		case numbered(actionNetwork, i):
			return newObject(networkKind, namespace.RestoredAs, ownName, map[string]any{"spec": networkRules(drill, namespace.Name)})
		}
	}
	return nil
}

// hardLimits of each namespace of a drill.
func hardLimits(drill *backupv1alpha1.DRDrill) map[string]any {
	quota := drill.Spec.Target.Quota
	if len(quota) == 0 {
		quota = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("500")}
		if !slices.Contains(drill.Spec.AlsoRestore, backupv1alpha1.ExposeLoadBalancers) {
			quota[corev1.ResourceServicesLoadBalancers] = resource.MustParse("0")
		}
	}
	hard := map[string]any{}
	for name, quantity := range quota {
		hard[string(name)] = quantity.String()
	}
	return hard
}

// standbyObject is what Velero needs in a cluster other than the one that was backed up.
func (r *Reconciler) standbyObject(ctx context.Context, drill *backupv1alpha1.DRDrill, action string) (*unstructured.Unstructured, error) {
	from, store, err := r.bucketOf(ctx, drill)
	if err != nil {
		return nil, err
	}
	source := drill.Status.Source
	switch action {
	case actionCredentials:
		file := base64.StdEncoding.EncodeToString([]byte(from.credentials.File()))
		return newObject(secretKind, source.VeleroNamespace, "", map[string]any{"type": "Opaque", "data": map[string]any{credentialsKey: file}}), nil
	case actionLocation:
		spec := from.content.Storage.Location(source.Prefix, map[string]any{"name": nameOf(drill, actionCredentials), "key": credentialsKey})
		// Velero reads this one backup, and none of the others appears in the cluster.
		spec["accessMode"], spec["backupSyncPeriod"] = string(velerov1.BackupStorageLocationAccessModeReadOnly), "0s"
		return newObject(locationKind, source.VeleroNamespace, "", map[string]any{"spec": spec}), nil
	}
	archived, err := store.Backup(ctx, source.Backup)
	if err != nil {
		return nil, err
	}
	return standbyBackup(archived.Object, drill), nil
}

// standbyBackup is the Backup as Velero's own synchronization would make it, of the location of the drill.
func standbyBackup(archived *unstructured.Unstructured, drill *backupv1alpha1.DRDrill) *unstructured.Unstructured {
	location := nameOf(drill, actionLocation)
	spec, _, _ := unstructured.NestedMap(archived.Object, "spec")
	status, _, _ := unstructured.NestedMap(archived.Object, "status")
	if spec == nil {
		spec = map[string]any{}
	}
	spec["storageLocation"] = location
	delete(spec, "hooks")
	object := newObject(backupKind, drill.Status.Source.VeleroNamespace, drill.Status.Source.Backup, map[string]any{"spec": spec, "status": status})
	object.SetLabels(map[string]string{velerov1.StorageLocationLabel: location})
	return object
}

// nameOf the object that an action made.
func nameOf(drill *backupv1alpha1.DRDrill, action string) string {
	record := drill.Status.Action(action)
	if record == nil {
		return ""
	}
	ref, _ := objects.ParseID(record.Object) // The room wrote it.
	return ref.Name
}

func modifiersObject(drill *backupv1alpha1.DRDrill) (*unstructured.Unstructured, error) {
	rules, err := yaml.Marshal(modifiers(exposed(drill)))
	if err != nil {
		return nil, err
	}
	return newObject(configMapKind, drill.Status.Source.VeleroNamespace, "", map[string]any{"data": map[string]any{"rules.yaml": string(rules)}}), nil
}

// restoreObject is the Restore. What is there is never changed by it.
func restoreObject(drill *backupv1alpha1.DRDrill) *unstructured.Unstructured {
	source, included, mapping := drill.Status.Source, []any{}, map[string]any{}
	for _, namespace := range drill.Status.Namespaces {
		included = append(included, namespace.Name)
		if namespace.RestoredAs != namespace.Name {
			mapping[namespace.Name] = namespace.RestoredAs
		}
	}
	excluded := []any{}
	for _, name := range slices.Concat(recovery.Excluded(), drill.Status.LeftOut) {
		excluded = append(excluded, name)
	}
	spec := map[string]any{
		"backupName": source.Backup, "includedNamespaces": included, "namespaceMapping": mapping, "excludedResources": excluded,
		"preserveNodePorts": false, "existingResourcePolicy": string(velerov1.PolicyTypeNone),
		"itemOperationTimeout": drill.Spec.RestoreTimeout.Duration.String(),
		// Records of Helm's would have a release taken for installed that is not.
		"labelSelector":    map[string]any{"matchExpressions": []any{map[string]any{"key": "owner", "operator": "NotIn", "values": []any{"helm"}}}},
		"resourceModifier": map[string]any{"kind": configMapKind.Kind, "name": nameOf(drill, actionModifiers)},
	}
	// Without a word, Velero restores the objects without a namespace that belong to those of the namespaces.
	if !recovers(drill) || restoresCluster(drill) {
		spec["includeClusterResources"] = restoresCluster(drill)
	}
	return newObject(restoreKind, source.VeleroNamespace, "", map[string]any{"spec": spec})
}

func newObject(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(object.Object, runtime.DeepCopyJSON(content))
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
