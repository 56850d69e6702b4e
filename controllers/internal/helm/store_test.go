package helm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
)

func newRecord(version int) *release.Release {
	return &release.Release{
		Version: version, Manifest: "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		Info: &release.Info{Status: common.StatusDeployed}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "web"}},
	}
}

// workload is a cluster that a fake stands for. another is why it cannot be told from another one.
type workload struct {
	kubernetes.Interface
	another error
}

func (w workload) Confirm(context.Context) error { return w.another }

func (w workload) Secrets(namespace string) (corev1client.SecretInterface, error) {
	return w.CoreV1().Secrets(namespace), nil
}

func newStore(t *testing.T, client kubernetes.Interface, another error) *Store {
	t.Helper()
	store, err := NewStore(t.Context(), workload{client, another}, shop, "here")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestNothingIsWrittenToAClusterThatMayBeAnother(t *testing.T) {
	another := errors.New("another cluster")
	for name, write := range map[string]func(*Store) error{
		"a new record": func(s *Store) error { _, err := s.Create(newRecord(2), "aa"); return err },
		"a known record": func(s *Store) error {
			_, err := s.Update(Entry{Version: 1, UID: "known"}, newRecord(1), "aa")
			return err
		},
		"a settled record": func(s *Store) error { return s.Settle(Entry{Version: 1, UID: "known"}) },
		"a removed record": func(s *Store) error { return s.Delete(Entry{Version: 1, UID: "known"}) },
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			if _, err := newStore(t, client, nil).Create(newRecord(1), "aa"); err != nil {
				t.Fatal(err)
			}
			client.ClearActions()
			if err := write(newStore(t, client, another)); !errors.Is(err, another) {
				t.Errorf("the error is %v", err)
			}
			for _, action := range client.Actions() {
				if action.GetVerb() != "get" {
					t.Errorf("it was written to: %s %s", action.GetVerb(), action.GetResource().Resource)
				}
			}
		})
	}
}

func TestAKnownRecordIsWrittenByItsUID(t *testing.T) {
	client := fake.NewClientset()
	store := newStore(t, client, nil)
	if _, err := store.Create(newRecord(1), "aa"); err != nil {
		t.Fatal(err)
	}
	written, err := store.Update(Entry{Version: 1, UID: "known"}, newRecord(1), "aa")
	if err != nil {
		t.Fatal(err)
	}
	if written.UID != "known" {
		t.Errorf("the request names the UID %q", written.UID)
	}
}

func TestARecordIsWhatHelmReads(t *testing.T) {
	client := fake.NewClientset()
	store := newStore(t, client, nil)
	written, err := store.Create(newRecord(1), "aa")
	if err != nil {
		t.Fatal(err)
	}
	if written.Name != "sh.helm.release.v1.shop.v1" || written.Labels[LabelInputs] != "aa.v1" || written.Labels["daytwo.dev/managed-by"] != "here" {
		t.Errorf("the Secret is %+v", written)
	}
	found, err := driver.NewSecrets(client.CoreV1().Secrets(shop.Namespace)).Get(written.Name)
	if err != nil {
		t.Fatal(err)
	}
	if read := found.(*release.Release); read.Name != "shop" || read.Namespace != "customer" || read.Version != 1 || read.Manifest == "" {
		t.Errorf("Helm reads %+v", read)
	}
}

func TestSettlingARecordKeepsItsContentAndLabels(t *testing.T) {
	client := fake.NewClientset()
	store := newStore(t, client, nil)
	if _, err := store.Create(newRecord(1), "aa"); err != nil {
		t.Fatal(err)
	}
	if err := store.Settle(Entry{Version: 1, Status: common.StatusDeployed}); err != nil {
		t.Fatal(err)
	}
	record, err := store.Read(1)
	if err != nil || record.Info.Status != common.StatusSuperseded || record.Manifest != newRecord(1).Manifest || record.Labels[LabelInputs] != "aa.v1" {
		t.Errorf("it is %+v, %v", record, err)
	}
	if err := store.Settle(Entry{Version: 7, Status: common.StatusDeployed}); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

// recordOf is the Secret of a record that begins and ends with some text, and has another one repeated in between.
func recordOf(t *testing.T, start, repeated string, size int, end string) *corev1.Secret {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	chunk := strings.Repeat(repeated, 1+(64<<10)/len(repeated))
	parts := append(append([]string{start}, slices.Repeat([]string{chunk}, 1+size/len(chunk))...), end)
	for _, part := range parts {
		if _, err := io.WriteString(writer, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.SecretName(1)},
		Data:       map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))},
	}
}

// Whoever may write Secrets in a workload cluster may write such records.
func TestARecordThatTakesTooMuchMemoryIsNoRecord(t *testing.T) {
	for name, secret := range map[string]*corev1.Secret{
		"inflates without end":   recordOf(t, "", " ", 512<<20, ""),
		"many values":            recordOf(t, `{"config":{"a":[{}`, ",{}", 12<<20, `]}}`),
		"many small objects":     recordOf(t, `{"config":{"a":[{}`, `,{"":0}`, 12<<20, `]}}`),
		"larger than any Secret": {ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.SecretName(1)}, Data: map[string][]byte{"release": make([]byte, 64<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(secret)
			store := newStore(t, client, nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			record, err := store.Read(1)
			runtime.ReadMemStats(&after)
			if record != nil || err != nil {
				t.Errorf("it was read, with error %v", err)
			}
			// The fake client copies the Secret.
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8*maxRecord {
				t.Errorf("%d MiB were allocated", allocated>>20)
			}
		})
	}
}

func TestAManifestIsNotExpanded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&bomb, "a%d: &a%[1]d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	for name, document := range map[string]string{
		"aliases":     bomb.String(),
		"many values": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na: [" + strings.Repeat("{},", 4<<20) + "]\n",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			refs := Objects(document + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
			runtime.ReadMemStats(&after)
			if len(refs) != 1 || refs[0].Name != "a" {
				t.Errorf("found %v, want the object beside the bomb", refs)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100<<20 {
				t.Errorf("%d MiB were allocated", allocated>>20)
			}
		})
	}
}

func TestAManifestsObjectsAreFound(t *testing.T) {
	refs := Objects(`---
# Source: web/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b, namespace: other}
---
apiVersion: v1
kind: Secret
metadata: {name: c, annotations: {helm.sh/resource-policy: keep}}
---
[not, an, object]
`)
	var ids []string
	for _, ref := range refs {
		ids = append(ids, ref.ID())
	}
	if want := "v1/ConfigMap//a apps/v1/Deployment/other/b"; strings.Join(ids, " ") != want {
		t.Errorf("found %v", ids)
	}
}
