package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// category is that of what people write.
const category = "daytwo"

// asTable makes an API server print objects as it does for kubectl.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// showTable shows everything that people write.
func (s *story) showTable(ctx context.Context) error {
	s.screen.Command(kubectl() + " get " + category + " -A")
	return s.showKinds(ctx, func(resource metav1.APIResource) bool { return slices.Contains(resource.Categories, category) })
}

// showKinds shows what kubectl would of some kinds, without needing one.
func (s *story) showKinds(ctx context.Context, wanted func(metav1.APIResource) bool) error {
	client, err := discovery.NewDiscoveryClientForConfig(s.env.Fleet.Management().Config())
	if err != nil {
		return err
	}
	_, groups, err := client.ServerGroupsAndResources()
	if err != nil {
		return fmt.Errorf("discover the kinds of the management cluster: %w", err)
	}
	slices.SortFunc(groups, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	for _, group := range groups {
		for _, resource := range group.APIResources {
			if !wanted(resource) {
				continue
			}
			table, err := getTable(ctx, client, group.GroupVersion, resource)
			if err != nil {
				return err
			}
			s.screen.Table(table)
		}
	}
	return nil
}

func getTable(ctx context.Context, client *discovery.DiscoveryClient, version string, resource metav1.APIResource) (string, error) {
	content, err := client.RESTClient().Get().AbsPath("apis", version, resource.Name).SetHeader("Accept", asTable).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("get the table of %s: %w", resource.Name, err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(content, table); err != nil {
		return "", fmt.Errorf("read the table of %s: %w", resource.Name, err)
	}
	group, _, _ := strings.Cut(version, "/")
	return renderTable(table, resource.SingularName+"."+group)
}

// renderTable lays a table out as "kubectl get" does for objects of several kinds and namespaces. Of a kind
// without objects nothing is shown.
func renderTable(table *metav1.Table, kind string) (string, error) {
	if len(table.Rows) == 0 {
		return "", nil
	}
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 8, 3, ' ', 0)
	header := []string{"NAMESPACE"}
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			header = append(header, strings.ToUpper(column.Name))
		}
	}
	printRow(out, header)
	for _, row := range table.Rows {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return "", err
		}
		cells := []string{object.Namespace}
		for i, column := range table.ColumnDefinitions {
			switch {
			case column.Priority != 0:
			case column.Format == "name":
				cells = append(cells, kind+"/"+object.Name)
			case row.Cells[i] == nil:
				cells = append(cells, "")
			default:
				cells = append(cells, fmt.Sprint(row.Cells[i]))
			}
		}
		printRow(out, cells)
	}
	err := out.Flush()
	return text.String(), err
}

func printRow(out io.Writer, cells []string) {
	_, _ = fmt.Fprintln(out, strings.Join(cells, "\t")) // Flush tells of an error.
}
