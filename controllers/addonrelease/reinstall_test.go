package addonrelease

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/addoncontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const (
	// definition of a kind, given its group, and the kind as singular and as the name of an object.
	definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.%[1]s, annotations: {helm.sh/resource-policy: keep}}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[2]ss, singular: %[2]s, listKind: %[2]sList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`
	instance = "{apiVersion: %[1]s/v1, kind: %[2]s, metadata: {name: one}}\n"
	claim    = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {helm.sh/resource-policy: keep}}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
`
)

// packed is a chart of some files.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	files["Chart.yaml"] = "{apiVersion: v2, name: kept, version: 1.0.0}"
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	writer := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := writer.WriteHeader(&tar.Header{Name: "kept/" + name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = writer.Write([]byte(files[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errorsOf(writer.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// packedChart stores a revision with a chart of some files.
func (a *addon) packedChart(crds addonsv1alpha1.CRDPolicy, files map[string]string) string {
	a.t.Helper()
	archive := packed(a.t, files)
	return a.revisionOf(addoncontent.Content{
		Namespace: a.namespace, CreateNamespace: true,
		Chart: &addoncontent.Chart{
			Repository: "oci://registry.example/charts", Name: "kept", Version: "1.0.0", Digest: fmt.Sprintf("sha256:%d", len(files)),
			Archive: archive, ReleaseName: a.releaseName(), CRDs: string(crds), HookTimeout: time.Minute,
		},
	})
}

// bind plays the controller that binds volumes, of which there is none here.
func (a *addon) bind() {
	a.t.Helper()
	data := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "data"}}
	eventually(a.t, "the claim is bound", func() (bool, string) {
		err := shared.workload.Status().Patch(a.t.Context(), data, client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Bound"}}`)))
		return err == nil, fmt.Sprint(err)
	})
}

// foundationUIDs are the UIDs of the namespace and of definitions.
func (a *addon) foundationUIDs(definitions ...string) []types.UID {
	a.t.Helper()
	var uids []types.UID
	for i, name := range append([]string{a.namespace}, definitions...) {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if i > 0 {
			object.SetGroupVersionKind(objects.DefinitionKind.WithVersion("v1"))
		}
		if err := shared.workload.Get(a.t.Context(), client.ObjectKey{Name: name}, object); err != nil {
			a.t.Fatal(err)
		}
		uids = append(uids, object.UID)
	}
	return uids
}

// A watch that runs already says nothing of what is there, and an apply that changes nothing makes no event.
func TestReinstallingOverWhatAChartKeptBecomesReady(t *testing.T) {
	t.Parallel()
	for _, crds := range []addonsv1alpha1.CRDPolicy{addonsv1alpha1.CRDCreate, addonsv1alpha1.CRDCreateReplace} {
		t.Run(string(crds), func(t *testing.T) {
			t.Parallel()
			a := declareAddon(t, "")
			group := strings.ToLower(string(crds)) + ".example.com"
			files := map[string]string{
				"crds/gadget.yaml":      fmt.Sprintf(definition, group, "gadget"),
				"templates/gizmo.yaml":  fmt.Sprintf(definition, group, "gizmo"),
				"templates/gadget.yaml": fmt.Sprintf(instance, group, "gadget"),
			}
			without := a.packedChart(crds, maps.Clone(files))
			files["templates/claim.yaml"] = claim
			with := a.packedChart(crds, files)
			a.start(with)
			a.bind()
			a.waitReady()
			before := a.foundationUIDs("gadgets."+group, "gizmos."+group)
			a.end()
			a.start(with)
			a.waitReady()
			if !slices.Equal(before, a.foundationUIDs("gadgets."+group, "gizmos."+group)) {
				t.Error("what was to be kept was made anew: the test shows nothing")
			}

			// The claim stays when it leaves the chart, and is there when the chart goes back.
			a.move(without)
			a.waitReady()
			a.move(with)
			a.waitReady()
		})
	}
}

func TestManifestsThatWereOrphanedBecomeReadyAgain(t *testing.T) {
	t.Parallel()
	a := declareAddon(t, "")
	text := webAndSettings + "---" + fmt.Sprintf(definition, "orphaned.example.com", "gadget") + "---\n" + fmt.Sprintf(instance, "orphaned.example.com", "gadget")
	orphan := func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.DeletionPolicy = metav1alpha1.DeletionPolicyOrphan }
	a.start(a.revision(text), orphan)
	a.waitReady()
	before := a.foundationUIDs("gadgets.orphaned.example.com")
	a.end()
	a.start(a.revision(text))
	release := a.waitReady()
	if !slices.Equal(before, a.foundationUIDs("gadgets.orphaned.example.com")) {
		t.Error("it was made anew: the test shows nothing")
	}
	if corrected := release.Status.Drift.Count; corrected != 0 {
		t.Errorf("%d corrections of what was as declared", corrected)
	}
	// It is watched as before.
	a.edit(a.settings(), "kubectl-edit", types.MergePatchType, `{"data":{"maxmemory":"1gb"}}`)
	a.waitFor(metav1alpha1.ConditionReady, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	a.waitBlamed("v1/ConfigMap/"+a.namespace+"/settings", "kubectl-edit")
}
