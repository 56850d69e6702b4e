package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/e2e/registry"
)

// The chart, which is also the name of its add-on, of the Helm release, and of the release's namespace.
const (
	chartName    = "web"
	chartObjects = 15
	// authority is the Secret with the certificate that the registry is trusted by.
	authority = "registry-ca"
	// hostSuffix is what the chart's value host ends in; it begins with the customer's namespace.
	hostSuffix = ".example.com"
)

// deliverChart shows that a Helm chart is an add-on as any other, and a Helm release as any other.
func (s *story) deliverChart(ctx context.Context) (err error) {
	server, err := registry.Start(ctx, registry.Options{})
	if err != nil {
		return err
	}
	// Nothing of what follows needs it: the revisions hold the charts.
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := s.installChart(ctx, server); err != nil {
		return err
	}
	if err := s.upgradeChart(ctx, server); err != nil {
		return err
	}
	if err := s.revert(ctx, s.imageEdit()); err != nil {
		return err
	}
	return s.awaitReady(ctx, chartName, s.customers...)
}

// newChartAddon is the provider's add-on of a chart.
func newChartAddon(repository string) *addonsv1alpha1.SaaSAddon {
	addon := addonOf(chartName, chartName, addonsv1alpha1.AddonSource{Chart: &addonsv1alpha1.ChartSource{
		Repository: repository, Name: chartName, Version: charts.FirstVersion, CARef: &metav1alpha1.LocalReference{Name: authority},
	}})
	addon.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"host": "{{ .Cluster.Namespace }}` + hostSuffix + `"}`)}
	return addon
}

// newAuthority is the Secret that the add-on names, without what is in it.
func newAuthority() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: authority}}
}

// publish packs a version of the chart and pushes it.
func (s *story) publish(to *registry.Server, version string) error {
	if err := s.screen.Do("publishing the chart "+chartName+" "+version, func() (done, error) {
		archive, err := charts.Archive(chartName, version)
		if err != nil {
			return done{}, err
		}
		_, err = to.Push(archive)
		return done{text: fmt.Sprintf("chart %s %s is published in an OCI registry", chartName, version)}, err
	}); err != nil {
		return err
	}
	s.screen.Command(fmt.Sprintf("helm push %s-%s.tgz %s --ca-file ca.crt", chartName, version, to.OCI()))
	return nil
}

func (s *story) installChart(ctx context.Context, from *registry.Server) error {
	if err := s.publish(from, charts.FirstVersion); err != nil {
		return err
	}
	secret := newAuthority()
	secret.Data = map[string][]byte{"ca.crt": from.CA()}
	if err := s.env.Admin.Create(ctx, secret); err != nil {
		return err
	}
	if err := s.screen.Do("creating the SaaSAddon and waiting for its pods", func() (done, error) {
		start := time.Now()
		if err := s.env.Admin.Create(ctx, newChartAddon(from.OCI())); err != nil {
			return done{}, fmt.Errorf("create SaaSAddon %s: %w", chartName, err)
		}
		err := s.awaitReady(ctx, chartName, s.customers...)
		s.figures.chartReady = time.Since(start)
		return done{fmt.Sprintf("its %d objects: from create to Ready in every cluster", chartObjects), s.figures.chartReady}, err
	}); err != nil {
		return err
	}
	if err := s.checkChart(ctx); err != nil {
		return err
	}
	s.screen.Note(fmt.Sprintf("values are templates: the host is %s%s, %s%s, …",
		s.customers[0].namespace(), hostSuffix, s.customers[1].namespace(), hostSuffix))
	s.screen.Command(kubectl() + " get addonreleases -n " + providerNamespace + " -l " + metav1alpha1.LabelPolicy + "=" + chartName)
	if err := s.checkReleases(charts.FirstVersion, 1); err != nil {
		return err
	}
	return s.showReleases()
}

func (s *story) upgradeChart(ctx context.Context, from *registry.Server) error {
	if err := s.publish(from, charts.SecondVersion); err != nil {
		return err
	}
	if err := s.screen.Do("upgrading to "+charts.SecondVersion, func() (done, error) {
		start := time.Now()
		if err := s.changeVersion(ctx, charts.SecondVersion); err != nil {
			return done{}, err
		}
		err := s.awaitReady(ctx, chartName, s.customers...)
		s.figures.chartUpgraded = time.Since(start)
		return done{"version " + charts.SecondVersion + " instead: from the edit to Ready in every cluster", s.figures.chartUpgraded}, err
	}); err != nil {
		return err
	}
	s.screen.Command(fmt.Sprintf(`%s patch saasaddon %s -n %s --type merge -p '{"spec": {"source": {"chart": {"version": "%s"}}}}'`,
		kubectl(), chartName, providerNamespace, charts.SecondVersion))
	if err := s.checkUpgraded(ctx); err != nil {
		return err
	}
	if err := s.checkReleases(charts.SecondVersion, 2); err != nil {
		return err
	}
	return s.showHistory(s.customers[0])
}

func (s *story) changeVersion(ctx context.Context, version string) error {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := s.env.Admin.Get(ctx, addonKey(chartName), addon); err != nil {
		return err
	}
	before := addon.DeepCopy()
	addon.Spec.Source.Chart.Version = version
	return s.env.Admin.Patch(ctx, addon, client.MergeFrom(before))
}
