package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// tenObjects is an add-on that is Current in a cluster without any controller. The namespace is the
// tenth object: the floor applies it, Daytwo brings it by itself.
const tenObjects = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {cluster: "{{ .Cluster.Name }}", maxmemory: 64mb}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data: {start.sh: "exec cache --config /etc/cache/cache.conf", stop.sh: "kill -TERM 1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dashboards}
data: {overview.json: '{"title": "Cache", "panels": [{"type": "graph", "title": "Hits"}]}'}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
data: {password: c2VjcmV0}
---
apiVersion: v1
kind: Secret
metadata: {name: peers}
data: {token: dG9rZW4=}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cache}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cache}
rules: [{apiGroups: [""], resources: [endpoints], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cache}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cache}
subjects: [{kind: ServiceAccount, name: cache, namespace: default}]
---
apiVersion: v1
kind: Service
metadata: {name: cache}
spec: {selector: {app: cache}, ports: [{port: 6379}]}
`

// kindsInUse are those of tenObjects.
func kindsInUse() []floor.Kind {
	core := schema.GroupVersion{Version: "v1"}
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	return []floor.Kind{
		{GroupVersionResource: core.WithResource("namespaces"), Whole: true},
		{GroupVersionResource: core.WithResource("configmaps")},
		{GroupVersionResource: core.WithResource("secrets")},
		{GroupVersionResource: core.WithResource("serviceaccounts")},
		{GroupVersionResource: core.WithResource("services"), Whole: true},
		{GroupVersionResource: rbac.WithResource("roles")},
		{GroupVersionResource: rbac.WithResource("rolebindings")},
	}
}

// newAddon is an add-on of that name, into a namespace of the same name in every cluster.
func newAddon(name, manifests string, maxConcurrent int) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{
				ClusterSelector: &metav1.LabelSelector{},
				Rollout:         metav1alpha1.RolloutPolicy{MaxConcurrent: int32(maxConcurrent)},
			},
			Namespace:       name,
			CreateNamespace: true,
			Source:          addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: manifests}},
		},
	}
}

// bareLabels mark what the floor applies, as Daytwo's labels mark what Daytwo does.
func bareLabels() map[string]string {
	return map[string]string{metav1alpha1.LabelManagedBy: floor.Manager}
}

// loader returns what an add-on of that name consists of in one cluster, ready for the floor to apply:
// rendered, labelled as Daytwo labels, and serialized.
type loader func(name, cluster string) ([]floor.Object, error)

func loadTenObjects(name, cluster string) ([]floor.Object, error) {
	return bareObjects(name, tenObjects, cluster)
}

func bareObjects(name, manifests, cluster string) ([]floor.Object, error) {
	return decodeObjects(name, strings.ReplaceAll(manifests, "{{ .Cluster.Name }}", cluster))
}

// decodeObjects returns a namespace and the rendered objects in it.
func decodeObjects(name, rendered string) ([]floor.Object, error) {
	namespace := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\n", name)
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(namespace+rendered), 4096)
	var objects []floor.Object
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode the manifests: %w", err)
		}
		ready, err := bareObject(object, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, ready)
	}
}

func bareObject(object *unstructured.Unstructured, namespace string) (floor.Object, error) {
	if object.GetKind() != "Namespace" {
		object.SetNamespace(namespace)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[metav1alpha1.LabelManagedBy] = floor.Manager
	labels[metav1alpha1.LabelHash] = "v1-0123456789abcdef"
	object.SetLabels(labels)
	body, err := json.Marshal(object)
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	return floor.Object{
		GroupVersionResource: resource, Namespace: object.GetNamespace(), Name: object.GetName(), Body: bytes.TrimSpace(body),
	}, err
}
