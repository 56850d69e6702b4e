package main

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/e2e/helmclient"
)

// helmTitles are the columns that helm list and helm history have in common, less what depends on the
// clock.
var helmTitles = []string{"CLUSTER", "NAME", "NAMESPACE", "REVISION", "STATUS", "CHART", "DESCRIPTION"}

// helm is a client that knows nothing of Daytwo.
func (s *story) helm(c customer) (*helmclient.Client, error) {
	cluster, err := s.env.Fleet.Cluster(c.name)
	if err != nil {
		return nil, err
	}
	return helmclient.New(cluster.Config(), helmclient.Settings{MaxHistory: helmclient.DefaultMaxHistory})
}

// releases are those of a customer's cluster, whatever their status.
func (s *story) releases(c customer) ([]*release.Release, error) {
	helm, err := s.helm(c)
	if err != nil {
		return nil, err
	}
	return helm.List("", func(list *action.List) { list.All, list.AllNamespaces = true, true })
}

// checkReleases asks Helm what is installed in each cluster.
func (s *story) checkReleases(version string, revision int) error {
	for _, c := range s.customers {
		found, err := s.releases(c)
		if err != nil {
			return fmt.Errorf("in cluster %s: %w", c.name, err)
		}
		if len(found) != 1 {
			return fmt.Errorf("in cluster %s Helm lists %d releases; want one", c.name, len(found))
		}
		got := found[0]
		if got.Name != chartName || got.Namespace != chartName || got.Version != revision ||
			got.Info.Status != common.StatusDeployed || got.Chart.Metadata.Version != version {
			return fmt.Errorf("in cluster %s Helm lists %v; want revision %d of %s/%s, deployed, of version %s",
				c.name, helmRow(c, got), revision, chartName, chartName, version)
		}
	}
	return nil
}

// showReleases shows what helm list would, of all clusters.
func (s *story) showReleases() error {
	s.screen.Note("each cluster has a Helm release, which helm knows as its own:")
	s.screen.Command(s.customers[0].helm() + " list -n " + chartName)
	var rows [][]string
	for _, c := range s.customers {
		found, err := s.releases(c)
		if err != nil {
			return err
		}
		for _, one := range found {
			rows = append(rows, helmRow(c, one))
		}
	}
	return s.helmTable(rows)
}

// showHistory shows what helm history would.
func (s *story) showHistory(c customer) error {
	helm, err := s.helm(c)
	if err != nil {
		return err
	}
	revisions, err := helm.History(types.NamespacedName{Namespace: chartName, Name: chartName})
	if err != nil {
		return err
	}
	s.screen.Command(c.helm() + " history " + chartName + " -n " + chartName)
	var rows [][]string
	for _, one := range revisions {
		rows = append(rows, helmRow(c, one))
	}
	return s.helmTable(rows)
}

func helmRow(c customer, one *release.Release) []string {
	return []string{
		c.name, one.Name, one.Namespace, fmt.Sprint(one.Version), one.Info.Status.String(),
		one.Chart.Metadata.Name + "-" + one.Chart.Metadata.Version, one.Info.Description,
	}
}

func (s *story) helmTable(rows [][]string) error {
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 8, 3, ' ', 0)
	printRow(out, helmTitles)
	for _, row := range rows {
		printRow(out, row)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	s.screen.Table(text.String())
	return nil
}

// recordsLeft counts the records of Helm releases in all customers' clusters.
func (s *story) recordsLeft() (int, error) {
	left := 0
	for _, c := range s.customers {
		found, err := s.releases(c)
		if err != nil {
			return 0, err
		}
		left += len(found)
	}
	return left, nil
}
