package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/helmclient"
	"github.com/daytwo-dev/daytwo/e2e/registry"
)

const (
	registryUser = "daytwo"
	// registryPassword is what no message may hold, whoever asked for a chart.
	registryPassword = canary + "-of-the-registry"

	// registrySecret and authoritySecret are what add-ons name to get into the registry.
	registrySecret, authoritySecret = "registry", "registry-ca"
)

// startRegistry serves archives to the customer alone.
func (c *customer) startRegistry(archives ...[]byte) *registry.Server {
	c.Helper()
	server, err := registry.Start(context.Background(), registry.Options{Username: registryUser, Password: registryPassword})
	must(c, err)
	c.Cleanup(func() { _ = server.Close() })
	for _, archive := range archives {
		_, err := server.Push(archive)
		must(c, err)
	}
	c.createSecret(registrySecret, corev1.SecretTypeBasicAuth, map[string]string{"username": registryUser, "password": registryPassword})
	c.createSecret(authoritySecret, corev1.SecretTypeOpaque, map[string]string{"ca.crt": string(server.CA())})
	return server
}

func (c *customer) createSecret(name string, kind corev1.SecretType, content map[string]string) *corev1.Secret {
	c.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Type: kind, StringData: content,
	}
	must(c, env.Admin.Create(c.Context(), secret))
	c.Cleanup(func() { must(c, client.IgnoreNotFound(env.Admin.Delete(context.Background(), secret))) })
	return secret
}

// newChartAddon is of a chart that the customer's registry serves. It is not created yet.
func (c *customer) newChartAddon(name, repository, chart, version string) *addonsv1alpha1.SaaSAddon {
	addon := c.newAddon(name, "")
	addon.Spec.Source = addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
		Repository: repository, Name: chart, Version: version,
		SecretRef: &metav1alpha1.LocalReference{Name: registrySecret}, CARef: &metav1alpha1.LocalReference{Name: authoritySecret},
	}}
	return addon
}

// create makes an add-on, and sees that it goes before the clusters do.
func (c *customer) create(addon *addonsv1alpha1.SaaSAddon) {
	c.Helper()
	must(c, env.Admin.Create(c.Context(), addon))
	c.Cleanup(func() {
		must(c, client.IgnoreNotFound(env.Admin.Delete(context.Background(), addon)))
		waitGone(c, env.Admin, addon)
	})
}

// update patches an add-on.
func (c *customer) update(addon *addonsv1alpha1.SaaSAddon, change func(*addonsv1alpha1.SaaSAddon)) {
	c.Helper()
	before := addon.DeepCopy()
	change(addon)
	must(c, env.Admin.Patch(c.Context(), addon, client.MergeFrom(before)))
}

func valuesOf(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

func valuesFromSecret(name string) []addonsv1alpha1.ValuesReference {
	return []addonsv1alpha1.ValuesReference{{Kind: "Secret", Name: name}}
}

// helmOf is Helm in the hands of an administrator of a workload cluster.
func helmOf(t testing.TB, cluster string) *helmclient.Client {
	t.Helper()
	made, err := helmclient.New(fleetCluster(t, cluster).Config(), helmclient.Settings{})
	must(t, err)
	return made
}

func chartArchive(t testing.TB, name, version string) []byte {
	t.Helper()
	archive, err := charts.Archive(name, version)
	must(t, err)
	return archive
}

// chartFiles are the files of a chart by their path in it.
type chartFiles map[string]string

// smallChart is a chart, version 1.0.0, that needs no pods.
func smallChart(name string, files chartFiles) chartFiles {
	made := maps.Clone(files)
	made["Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, charts.FirstVersion)
	return made
}

// configMaps are one template for each name. All have the value color.
func configMaps(names ...string) chartFiles {
	files := chartFiles{"values.yaml": "color: none\n"}
	for _, name := range names {
		files["templates/"+name+".yaml"] = fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {color: {{ .Values.color | quote }}}\n", name)
	}
	return files
}

// packed makes the archive that helm package would make.
func (f chartFiles) packed(t testing.TB) []byte {
	t.Helper()
	return packTar(t, func(archive *tar.Writer) {
		for _, path := range slices.Sorted(maps.Keys(f)) {
			addFile(t, archive, "chart/"+path, []byte(f[path]))
		}
	})
}

func packTar(t testing.TB, fill func(*tar.Writer)) []byte {
	t.Helper()
	var content bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&content, gzip.BestSpeed)
	must(t, err)
	archive := tar.NewWriter(compressed)
	fill(archive)
	must(t, archive.Close())
	must(t, compressed.Close())
	return content.Bytes()
}

func addFile(t testing.TB, archive *tar.Writer, path string, content []byte) {
	t.Helper()
	must(t, archive.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(content))}))
	_, err := archive.Write(content)
	must(t, err)
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
