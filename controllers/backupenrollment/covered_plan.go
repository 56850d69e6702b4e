package backupenrollment

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
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

// covered are the namespaces of a cluster that count.
type covered struct {
	// total is how many there are.
	total int
	// uncovered are those that no policy backs up, in order.
	uncovered []string
	// parts are those of which policies back up some objects alone, in order.
	parts []string
	// by are the fields of templates that leave the others out, in order.
	by []string
}

// coveredBy says what the filters of all policies of a cluster cover. Velero is the name of its namespace, which does not count.
func coveredBy(filters []filter, namespaces []*unstructured.Unstructured, velero string) covered {
	var c covered
	for _, namespace := range namespaces {
		if !isCounted(namespace, velero) {
			continue
		}
		c.total++
		c.add(namespace.GetName(), filters)
	}
	slices.Sort(c.uncovered)
	slices.Sort(c.parts)
	slices.Sort(c.by)
	c.by = slices.Compact(c.by)
	return c
}

// add a namespace. One filter that takes in all of it is enough.
func (c *covered) add(namespace string, filters []filter) {
	takesIn := func(f filter) bool { return f.covers(namespace) }
	takesAll := func(f filter) bool { return takesIn(f) && f.partial == "" }
	switch {
	case slices.ContainsFunc(filters, takesAll):
	case slices.ContainsFunc(filters, takesIn):
		c.parts = append(c.parts, namespace)
		for _, f := range filters {
			if takesIn(f) {
				c.by = append(c.by, f.partial)
			}
		}
	default:
		c.uncovered = append(c.uncovered, namespace)
	}
}

// gaps say which namespaces are not backed up, or not all of them.
func (c covered) gaps() (gaps []string) {
	if count := len(c.uncovered); count > 0 {
		gaps = append(gaps, fmt.Sprintf("no policy backs up %d of %d namespaces: %s", count, c.total, firstOf(c.uncovered, count)))
	}
	if count := len(c.parts); count > 0 {
		gaps = append(gaps, fmt.Sprintf("of %d of %d namespaces objects are left out by %s: %s", count, c.total, strings.Join(c.by, " and "), firstOf(c.parts, count)))
	}
	return gaps
}

// volumeGaps names the volumes that a backup does not have.
func volumeGaps(backup *backupv1alpha1.BackupRun) []string {
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
	named := names[:min(len(names), maxUncoveredNamed)]
	text := strings.Join(named, ", ")
	if more := count - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
