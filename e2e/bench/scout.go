package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/chartarchive"
)

// scoutAddon is a chart that looks around in its cluster, and has a custom resource.
const scoutAddon = "scout"

// scoutFiles are those of the chart. It looks around in every other round. What it finds makes no difference, so that no
// rendering is kept.
var scoutFiles = map[string][]byte{
	"Chart.yaml":      []byte("apiVersion: v2\nname: " + scoutAddon + "\nversion: " + charts.FirstVersion + "\n"),
	"values.yaml":     []byte("round: 0\n"),
	"crds/place.yaml": []byte(definition("Place", "places")),
	"templates/all.yaml": []byte(`{{- if mod .Values.round 2 }}
{{- $all := lookup "v1" "ConfigMap" "" "" }}
{{- $pods := lookup "v1" "Pod" "" "" }}
{{- $one := lookup "v1" "Secret" .Release.Namespace "password" }}
{{- if .Capabilities.APIVersions.Has "bench.example.com/v1/Place" }}
{{- $places := lookup "bench.example.com/v1" "Place" "" "" }}
{{- end }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {round: {{ .Values.round | quote }}}
---
apiVersion: bench.example.com/v1
kind: Place
metadata: {name: here}
spec: {round: {{ .Values.round }}}
`),
}

// publishScout makes the chart available.
func (b *bench) publishScout() error {
	archive, err := chartarchive.Pack(scoutAddon, scoutFiles)
	if err != nil {
		return err
	}
	_, err = b.charts.Push(archive)
	return err
}

// newScout is an add-on of the chart for one cluster.
func (b *bench) newScout(cluster string) *addonsv1alpha1.SaaSAddon {
	addon := b.newChartAddon(scoutAddon)
	addon.Spec.ClusterSelector, addon.Spec.ClusterNames = nil, []string{cluster}
	addon.Spec.Source.Chart.Name = scoutAddon
	addon.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"round": 0}`)}
	return addon
}
