package helmclient

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return content
}

func TestNormalisedDropsWhatTheClusterChose(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"metadata of the server": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: b, resourceVersion: "1", generation: 2,
				creationTimestamp: "2025-01-01T00:00:00Z", managedFields: [{manager: helm}], selfLink: /a}, status: {ready: true}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		"a deletion's time, but not that there is one": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2025-01-01T00:00:00Z", deletionGracePeriodSeconds: 30}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: is set}}`,
		},
		"an owner's uid, but not the owner": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{kind: Site, name: b, uid: c}]}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{kind: Site, name: b}]}}`,
		},
		"labels of controllers": {
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {daytwo.dev/hash: v1, provider.daytwo.dev/zone: b, app: c},
				annotations: {deployment.kubernetes.io/revision: "3"}}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {app: c}}}`,
		},
		"a Service's addresses": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80, nodePort: 30080}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`,
		},
		"nothing of a headless Service": {
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
		},
		"a Job's selector": {
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: {batch.kubernetes.io/controller-uid: b}}, spec: {
				selector: {matchLabels: {batch.kubernetes.io/controller-uid: b}},
				template: {metadata: {creationTimestamp: null, labels: {controller-uid: b, app: c}}}}}`,
			`{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {metadata: {labels: {app: c}}}}}`,
		},
		"a pod's node and token": {
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: node-1, volumes: [{name: data}, {name: kube-api-access-xyz}],
				containers: [{name: b, volumeMounts: [{name: kube-api-access-xyz}]}]}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {volumes: [{name: data}], containers: [{name: b}]}}`,
		},
		"a claim's volume": {
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {pv.kubernetes.io/bind-completed: "yes"}},
				spec: {volumeName: pvc-1}}`,
			`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, got, err := normalised(&unstructured.Unstructured{Object: parse(t, test.before)})
			if err != nil {
				t.Fatal(err)
			}
			if want := parse(t, test.after); !reflect.DeepEqual(got.Content, want) {
				t.Errorf("got\n%v\nwant\n%v", got.Content, want)
			}
		})
	}
}

func TestNormalisedLeavesItsInputAlone(t *testing.T) {
	text := `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b, uid: c}, spec: {clusterIP: 10.0.0.1}}`
	object := &unstructured.Unstructured{Object: parse(t, text)}
	id, _, err := normalised(object)
	if err != nil {
		t.Fatal(err)
	}
	if id != "v1/Service/b/a" {
		t.Errorf("the id is %s", id)
	}
	if want := parse(t, text); !reflect.DeepEqual(object.Object, want) {
		t.Errorf("the object became %v", object.Object)
	}
}
