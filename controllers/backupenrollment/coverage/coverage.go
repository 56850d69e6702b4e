package coverage

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxUncoveredNamed is how many namespaces, and how many volumes, a condition names.
const maxUncoveredNamed = 5

// isCounted is whether a namespace of a cluster is to be in a backup: one of the cluster's own, or of Velero's, is not, nor is
// one that people or drills keep out of backups.
func isCounted(namespace *unstructured.Unstructured, velero string) bool {
	labels := namespace.GetLabels()
	switch namespace.GetName() {
	case velero, metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease":
		return false
	}
	return namespace.GetDeletionTimestamp() == nil && labels[velerov1.ExcludeFromBackupLabel] != "true" && labels[metav1alpha1.LabelDrill] == ""
}

// Covered are the namespaces of a cluster that count.
type Covered struct {
	// Total is how many there are.
	Total int
	// Uncovered are those that no policy backs up, in order.
	Uncovered []string
	// Parts are those of which policies back up some objects alone, in order.
	Parts []string
	// By are the fields of templates that leave the others out, in order.
	By []string
}

// Of says what the filters of all policies of a cluster cover. Velero is the name of its namespace, which does not count.
func Of(filters []Filter, namespaces []*unstructured.Unstructured, velero string) Covered {
	var c Covered
	for _, namespace := range namespaces {
		if !isCounted(namespace, velero) {
			continue
		}
		c.Total++
		c.add(namespace.GetName(), filters)
	}
	slices.Sort(c.Uncovered)
	slices.Sort(c.Parts)
	slices.Sort(c.By)
	c.By = slices.Compact(c.By)
	return c
}

// add a namespace. One filter that takes in all of it is enough.
func (c *Covered) add(namespace string, filters []Filter) {
	takesIn := func(f Filter) bool { return f.covers(namespace) }
	takesAll := func(f Filter) bool { return takesIn(f) && f.partial == "" }
	switch {
	case slices.ContainsFunc(filters, takesAll):
	case slices.ContainsFunc(filters, takesIn):
		c.Parts = append(c.Parts, namespace)
		for _, f := range filters {
			if takesIn(f) {
				c.By = append(c.By, f.partial)
			}
		}
	default:
		c.Uncovered = append(c.Uncovered, namespace)
	}
}

// Gaps say which namespaces are not backed up, or not all of them.
func (c Covered) Gaps() (gaps []string) {
	if count := len(c.Uncovered); count > 0 {
		gaps = append(gaps, fmt.Sprintf("no policy backs up %d of %d namespaces: %s", count, c.Total, firstOf(c.Uncovered, count)))
	}
	if count := len(c.Parts); count > 0 {
		gaps = append(gaps, fmt.Sprintf("of %d of %d namespaces objects are left out by %s: %s", count, c.Total, strings.Join(c.By, " and "), firstOf(c.Parts, count)))
	}
	return gaps
}

// VolumeGaps names the volumes that a backup does not have.
func VolumeGaps(backup *backupv1alpha1.BackupRun) []string {
	missing := int(*backup.Volumes.Total - *backup.Volumes.Covered)
	if missing <= 0 {
		return nil
	}
	var names []string
	for _, one := range backup.Volumes.Uncovered {
		names = append(names, one.Name)
	}
	return []string{fmt.Sprintf("backup %s has no data of %d of %d volumes: %s", backup.Name, missing, *backup.Volumes.Total, firstOf(names, missing))}
}

// firstOf so many names.
func firstOf(names []string, count int) string {
	return truncate.First(names[:min(len(names), maxUncoveredNamed)], ", ", count)
}
