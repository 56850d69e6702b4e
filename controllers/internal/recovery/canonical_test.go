package recovery

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	one := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = one.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return one
}

var mapping = Mapping{"shop": "shop-drill"}

// What Velero and a cluster change on the way is no difference; anything else is.
func TestWhatARestoreChanges(t *testing.T) {
	for name, row := range map[string]struct {
		archived, restored string
		// differs are the fields that do; empty for none.
		differs string
	}{
		"status, identity and Velero's labels": {
			archived: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: "1", resourceVersion: "5", creationTimestamp: "2026-01-01T00:00:00Z", labels: {app: web, daytwo.dev/hash: x}, ownerReferences: [{name: x}], managedFields: [{manager: x}]}, data: {a: b}, status: {x: y}}`,
			restored: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop-drill, uid: "2", labels: {app: web, velero.io/restore-name: r, velero.io/backup-name: b}}, data: {a: b}}`,
		},
		"a label that is gone": {
			archived: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, labels: {app: web}}}`,
			restored: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop-drill}}`, differs: "metadata.labels",
		},
		"content": {
			archived: `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, data: {a: Yg==, c: ZA==}}`,
			restored: `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop-drill}, data: {a: eA==}}`, differs: "data.a data.c",
		},
		"an empty map and none": {
			archived: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, annotations: {}}, data: {}}`,
			restored: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop-drill}}`,
		},
		"the addresses of a Service": {
			archived: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80, nodePort: 30001}]}}`,
			restored: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop-drill}, spec: {clusterIP: 10.0.0.2, clusterIPs: [10.0.0.2], ports: [{port: 80, nodePort: 30002}]}}`,
		},
		"a Service that is headless no more": {
			archived: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			restored: `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop-drill}, spec: {clusterIP: 10.0.0.2}}`, differs: "spec",
		},
		"the volume of a claim": {
			archived: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: x, resources: {requests: {storage: 1Gi}}}}`,
			restored: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop-drill}, spec: {resources: {requests: {storage: 1Gi}}}}`,
		},
		"a claim of another size": {
			archived: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop}, spec: {resources: {requests: {storage: 1Gi}}}}`,
			restored: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, namespace: shop-drill}, spec: {resources: {requests: {storage: 2Gi}}}}`, differs: "spec.resources.requests.storage",
		},
		"the selector of a Job": {
			archived: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop, labels: {batch.kubernetes.io/controller-uid: x}}, spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: x}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: x, controller-uid: x, job-name: a}}}}}`,
			restored: `{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: shop-drill}, spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: y}}, template: {metadata: {labels: {batch.kubernetes.io/controller-uid: y, controller-uid: y, job-name: a}}}}}`,
		},
		"the subjects of a RoleBinding": {
			archived: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop}, subjects: [{kind: ServiceAccount, name: a, namespace: shop}, {kind: ServiceAccount, name: b, namespace: bank}]}`,
			restored: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop-drill}, subjects: [{kind: ServiceAccount, name: a, namespace: shop-drill}, {kind: ServiceAccount, name: b, namespace: bank}]}`,
		},
		"a RoleBinding that still binds those of the other namespace": {
			archived: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop}, subjects: [{kind: ServiceAccount, name: a, namespace: shop}]}`,
			restored: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop-drill}, subjects: [{kind: ServiceAccount, name: a, namespace: shop}]}`, differs: "subjects[0].namespace",
		},
		"the token of a ServiceAccount": {
			archived: `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.uid: x}}, type: kubernetes.io/service-account-token, data: {token: YQ==, extra: Yg==}}`,
			restored: `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop-drill, annotations: {kubernetes.io/service-account.uid: y}}, type: kubernetes.io/service-account-token, data: {token: Yw==, extra: Yg==}}`,
		},
		"the node of a pod": {
			archived: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {nodeName: n1, priority: 0, containers: [{image: x}]}}`,
			restored: `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop-drill}, spec: {nodeName: n2, containers: [{image: x}]}}`,
		},
		"the image of a container": {
			archived: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop}, spec: {template: {spec: {containers: [{image: "x:1"}]}}}}`,
			restored: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: shop-drill}, spec: {template: {spec: {containers: [{image: "x:2"}]}}}}`, differs: "spec.template.spec.containers[0].image",
		},
	} {
		t.Run(name, func(t *testing.T) {
			archived, restored := object(t, row.archived), object(t, row.restored)
			before := archived.DeepCopy()
			same := ArchivedDigest(archived, mapping) == RestoredDigest(restored)
			if got := strings.Join(Differences(archived, restored, mapping), " "); got != row.differs || same != (row.differs == "") {
				t.Errorf("digests are the same: %t; differences are %q, want %q", same, got, row.differs)
			}
			if before.Object["kind"] != archived.Object["kind"] || len(before.Object) != len(archived.Object) {
				t.Error("the archived object was changed")
			}
		})
	}
}

func TestADefaultOfTheClusterIsNoDifference(t *testing.T) {
	archived := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {containers: [{image: x}]}}`)
	restored := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop-drill}, spec: {newField: set, containers: [{image: x, pullPolicy: Always}]}}`)
	if got := Differences(archived, restored, mapping); len(got) > 0 {
		t.Errorf("differences are %v", got)
	}
	if ArchivedDigest(archived, mapping) == RestoredDigest(restored) {
		t.Error("the digests are the same, so nothing is shown here")
	}
	more := object(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop-drill}, spec: {containers: [{image: x}, {image: y}]}}`)
	if got := Differences(archived, more, mapping); len(got) != 1 || got[0] != "spec.containers" {
		t.Errorf("another container makes for %v", got)
	}
}

func TestWhatVeleroRestores(t *testing.T) {
	for text, want := range map[string]bool{
		"configmaps shop/settings": true, "configmaps shop/kube-root-ca.crt": false, "events shop/x": false, "endpoints shop/web": false,
		"endpointslices.discovery.k8s.io shop/web": false, "backups.velero.io velero/x": false, "leases.coordination.k8s.io shop/leader": false,
		"pods shop/web": true, "jobs.batch shop/migration": true, "deployments.apps shop/web": true,
	} {
		resource, name, _ := strings.Cut(text, " ")
		namespace, name, _ := strings.Cut(name, "/")
		item := Item{Resource: schema.ParseGroupResource(resource), Namespace: namespace, Name: name}
		if got, reason := IsRestored(item, &unstructured.Unstructured{Object: map[string]any{}}); got != want || (reason == "") != want {
			t.Errorf("%s: %t, %q", text, got, reason)
		}
	}
	ended := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Succeeded", "completionTime": "2026-01-01T00:00:00Z"}}}
	mirror := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kubernetes.io/config.mirror": "x"}}}}
	pods, jobs := schema.GroupResource{Resource: "pods"}, schema.GroupResource{Group: "batch", Resource: "jobs"}
	for _, row := range []struct {
		resource schema.GroupResource
		object   *unstructured.Unstructured
	}{{pods, ended}, {jobs, ended}, {pods, mirror}} {
		if got, _ := IsRestored(Item{Resource: row.resource, Namespace: "shop", Name: "x"}, row.object); got {
			t.Errorf("%s %v is restored", row.resource, row.object.Object)
		}
	}
}
