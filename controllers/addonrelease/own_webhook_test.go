package addonrelease

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lanternDefinition defines a kind in versions v1, in which it is stored, to v<last>.
func lanternDefinition(last int, conversion string) string {
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lanterns.lantern.test}
spec:
  group: lantern.test
  scope: Namespaced
  names: {kind: Lantern, plural: lanterns, singular: lantern, listKind: LanternList}
  versions:
`
	for version := 1; version <= last; version++ {
		text += fmt.Sprintf("  - {name: v%d, served: true, storage: %t, subresources: {status: {}}, "+
			"schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", version, version == 1)
	}
	return text + conversion
}

// lanternConversion leads to a release of the webhook.
const lanternConversion = `
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "%s/%d", caBundle: %s}
`

// lanternWebhook is a release of the webhook, and an object that needs it to be written or read.
const lanternWebhook = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: webhook}
spec:
  selector: {matchLabels: {app: webhook}}
  template:
    metadata: {labels: {app: webhook}}
    spec:
      containers: [{name: webhook, image: "webhook:%[1]d"}]
---
apiVersion: lantern.test/v%[2]d
kind: Lantern
metadata: {name: lamp}
spec: {webhook: "%[1]d"}
`

func lantern(version int, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "lantern.test", Version: fmt.Sprintf("v%d", version), Kind: "Lantern"})
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// webhook converts in place of the pods of a Deployment, whose containers do not run: a release of it answers while
// the Deployment has pods of that release that are available.
type webhook struct {
	namespace string
	address   string
	ca        []byte

	mu sync.Mutex
	// refused counts the requests to each release that came before it ran. The first one always does.
	refused map[int]int
	// always: it answers without a Deployment.
	always bool
}

func startWebhook(t *testing.T, namespace string) *webhook {
	t.Helper()
	w := &webhook{namespace: namespace, refused: map[int]int{}}
	server := httptest.NewTLSServer(w)
	t.Cleanup(server.Close)
	w.address = server.URL
	w.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return w
}

// chart brings a release of the webhook, with a version of the kind that the release before did not have.
func (w *webhook) chart(release int) map[string]string {
	conversion := fmt.Sprintf(lanternConversion, w.address, release, base64.StdEncoding.EncodeToString(w.ca))
	return map[string]string{
		"crds/lantern.yaml":      lanternDefinition(release+1, conversion),
		"templates/lantern.yaml": fmt.Sprintf(lanternWebhook, release, release+1),
	}
}

func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	release, err := strconv.Atoi(path.Base(r.URL.Path))
	if err != nil || !w.admits(r.Context(), release) {
		http.Error(rw, "the webhook does not run yet", http.StatusServiceUnavailable)
		return
	}
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		object.SetAPIVersion(review.Request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	review.Request = nil
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(review)
}

func (w *webhook) admits(ctx context.Context, release int) bool {
	runs := w.runs(ctx, release)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.always {
		return true
	}
	if !runs || w.refused[release] == 0 {
		w.refused[release]++
		return false
	}
	return true
}

func (w *webhook) runs(ctx context.Context, release int) bool {
	deployment := w.deployment()
	err := shared.workload.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
	return err == nil && deployment.Spec.Template.Spec.Containers[0].Image == fmt.Sprintf("webhook:%d", release) &&
		deployment.Status.ObservedGeneration == deployment.Generation && deployment.Status.UpdatedReplicas > 0 &&
		deployment.Status.AvailableReplicas > 0 && deployment.Status.UnavailableReplicas == 0
}

func (w *webhook) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "webhook"}}
}

// answerAlways lets everything be removed, whatever is removed first.
func (w *webhook) answerAlways() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.always = true
}

func (w *webhook) refusals(release int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused[release]
}

// It does not run beside other tests: no namespace of the cluster can be removed while a kind cannot be listed.
func TestAChartThatBringsTheWebhookOfItsOwnKindBecomesReady(t *testing.T) {
	a := declareAddon(t, "")
	w := startWebhook(t, a.namespace)
	definition := define(t, lanternDefinition(1, ""))
	t.Cleanup(func() {
		plain := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
		if err := shared.workload.Patch(context.Background(), definition, plain); err != nil {
			t.Error(err)
		}
	})
	// This one is stored in a version that the chart does not use: without the webhook, the kind cannot be listed.
	eventually(t, "there is an object that is older than the chart", func() (bool, string) {
		err := shared.workload.Create(t.Context(), lantern(1, "default", "old"))
		return err == nil, fmt.Sprint(err)
	})

	a.start(a.packaged(w.chart(1)))
	t.Cleanup(w.answerAlways)
	a.waitRelease(w, 1)
	a.move(a.packaged(w.chart(2)))
	a.waitRelease(w, 2)

	// A change of the definition has the API server read all objects anew, which it would keep otherwise.
	shared.restart(t, a, func() {
		if err := shared.workload.Delete(t.Context(), w.deployment()); err != nil {
			t.Fatal(err)
		}
		patchDefinition(t, definition, `{"spec":{"names":{"shortNames":["lan"]}}}`)
		awaitUnlistable(t, lantern(3, "", "").GroupVersionKind())
	})
	eventually(t, "the webhook runs again", func() (bool, string) { return w.runs(t.Context(), 2), "it does not" })
	eventually(t, "the kind is watched again", func() (bool, string) {
		kind := shared.connections.Tracker(types.NamespacedName{Namespace: "default", Name: tenantName}).Kind(schema.GroupKind{Group: "lantern.test", Kind: "Lantern"})
		return kind.Listed && kind.Unknown == "", fmt.Sprintf("%+v", kind)
	})
	a.waitRelease(w, 2)
}

// waitRelease waits until the add-on is Ready with a release of the webhook, which was needed before it ran.
func (a *addon) waitRelease(w *webhook, release int) {
	a.t.Helper()
	a.waitReady()
	if w.refusals(release) == 0 {
		a.t.Fatalf("release %d of the webhook was not needed before it ran: the test shows nothing", release)
	}
	lamp := lantern(release+1, a.namespace, "lamp")
	if err := a.fetch(lamp); err != nil {
		a.t.Fatal(err)
	}
	if found, _, _ := unstructured.NestedString(lamp.Object, "spec", "webhook"); found != strconv.Itoa(release) {
		a.t.Errorf("the object is of release %s, not %d", found, release)
	}
}
