package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chartloader "helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/registry"
)

const (
	// chartName is the chart with 15 objects and no hooks.
	chartName = "web"
	// chartAuthority is the Secret with the certificate that the registry is trusted by.
	chartAuthority = "registry-ca"
	// hostSuffix is what the chart's value host ends in; it begins with the cluster's name, so that no two
	// clusters have the same rendering.
	hostSuffix = ".example.com"
)

// openRegistry publishes the chart, unless it is.
func (b *bench) openRegistry(ctx context.Context) error {
	if b.charts != nil {
		return nil
	}
	archive, err := charts.Archive(chartName, charts.FirstVersion)
	if err != nil {
		return err
	}
	if b.charts, err = registry.Start(ctx, registry.Options{}); err != nil {
		return err
	}
	if _, err := b.charts.Push(archive); err != nil {
		return err
	}
	return b.env.Admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: chartAuthority},
		Data:       map[string][]byte{"ca.crt": b.charts.CA()},
	})
}

// newChartAddon is an add-on of the chart, as a release of the add-on's name.
func (b *bench) newChartAddon(name string) *addonsv1alpha1.SaaSAddon {
	addon := newAddon(name, "", b.clusters)
	addon.Spec.Source = addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
		Repository: b.charts.OCI(), Name: chartName, Version: charts.FirstVersion,
		CARef: &metav1alpha1.LocalReference{Name: chartAuthority},
	}}
	addon.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"host": "{{ .Cluster.Name }}` + hostSuffix + `"}`)}
	return addon
}

// chartValues are the add-on's, as they come out in one cluster.
func chartValues(cluster string) map[string]any {
	return map[string]any{"host": cluster + hostSuffix}
}

// loadChart returns the objects of the chart, with the marks that Helm puts on them and Daytwo as well.
func loadChart(name, cluster string) ([]floor.Object, error) {
	manifest, err := renderChart(name, cluster)
	if err != nil {
		return nil, err
	}
	objects, err := decodeObjects(name, manifest)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		if objects[i].Namespace == "" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(objects[i].Body); err != nil {
			return nil, err
		}
		object.SetAnnotations(map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": name})
		if objects[i].Body, err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// renderChart does what helm template does.
func renderChart(name, cluster string) (string, error) {
	archive, err := charts.Archive(chartName, charts.FirstVersion)
	if err != nil {
		return "", err
	}
	chart, err := chartloader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.KubeVersion = &common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	install.ReleaseName, install.Namespace = name, name
	rendered, err := install.Run(chart, chartValues(cluster))
	if err != nil {
		return "", fmt.Errorf("render chart %s: %w", chartName, err)
	}
	of, ok := rendered.(*release.Release)
	if !ok {
		return "", fmt.Errorf("render chart %s: Helm returned a %T", chartName, rendered)
	}
	return of.Manifest, nil
}
