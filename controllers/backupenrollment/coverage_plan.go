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
	total int
	// uncovered are those that no policy backs up, in order.
	uncovered []string
	// parts are those of which policies back up some objects alone, in order; by is why.
	parts []string
	by    []string
}

// coveredBy the filters of all policies of a cluster.
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

// coverageFinding is what in the cluster no backup covers. It is no reason for an enrollment not to be Ready: to leave
// something out may be what people want.
func coverageFinding(o *observation, told history) finding {
	f := finding{kind: backupv1alpha1.ConditionCoverageComplete, status: metav1.ConditionUnknown, reason: backupv1alpha1.ReasonCoverageUnknown}
	velero, own := o.Extra.velero, o.Status.Velero
	filters, known := filtersOf(velero, o.Extra.policies)
	if f.message = whyNamespacesUnknown(velero, known); f.message != "" {
		return f
	}
	namespaces := coveredBy(filters, velero.namespaces.Objects, own.Namespace)
	backup, why := lastRead(told)
	var gaps []string
	if count := len(namespaces.uncovered); count > 0 {
		gaps = append(gaps, fmt.Sprintf("no policy backs up %d of %d namespaces: %s", count, namespaces.total, firstOf(namespaces.uncovered, count)))
	}
	if count := len(namespaces.parts); count > 0 {
		gaps = append(gaps, fmt.Sprintf("of %d of %d namespaces objects are left out by %s: %s",
			count, namespaces.total, strings.Join(namespaces.by, " and "), firstOf(namespaces.parts, count)))
	}
	if backup != nil {
		gaps = append(gaps, volumeGaps(backup)...)
	}
	switch {
	case len(gaps) > 0:
		f.status, f.reason, f.message = metav1.ConditionFalse, backupv1alpha1.ReasonNotCovered, strings.Join(gaps, "; ")
	case why != "":
		f.message = why
	default:
		f.status, f.reason = metav1.ConditionTrue, backupv1alpha1.ReasonCovered
		f.message = fmt.Sprintf("%d namespaces, and %d volumes in backup %s", namespaces.total, *backup.Volumes.Covered, backup.Name)
	}
	return f
}

// filtersOf are those of the enrollment's own Schedule, and of those of the other policies. Own is false if its own cannot be
// read.
func filtersOf(velero *seen, policies []string) (filters []filter, own bool) {
	first, own := filterOf(velero.schedule)
	filters = append(filters, first)
	for _, schedule := range velero.schedules {
		if !slices.Contains(policies, schedule.GetName()) || schedule.GetDeletionTimestamp() != nil {
			continue
		}
		if other, ok := filterOf(schedule); ok {
			filters = append(filters, other)
		}
	}
	return filters, own
}

func whyNamespacesUnknown(velero *seen, known bool) string {
	switch {
	case !known:
		return "the Schedule is not seen yet"
	case velero.namespaces.Unknown != "":
		return "namespaces cannot be watched: " + velero.namespaces.Unknown
	case velero.namespaces.Pending():
		return "waits for the first list of namespaces"
	case velero.namespaces.Incomplete:
		return fmt.Sprintf("the cluster has more than %d namespaces, or very large ones", maxNamespaces)
	}
	return ""
}

// lastRead is the last backup of which the volumes are known, or else why there is none.
func lastRead(told history) (*backupv1alpha1.BackupRun, string) {
	for i := range told.runs {
		run := &told.runs[i]
		switch {
		case run.EndedAt == nil || !hasDetails(*run):
		case run.DetailsProblem != "":
			return nil, fmt.Sprintf("the volumes of backup %s are not known: %s", run.Name, run.DetailsProblem)
		case run.DetailsRead && run.Volumes == nil:
			return nil, fmt.Sprintf("the bucket does not tell which volumes backup %s has", run.Name)
		case run.DetailsRead:
			return run, ""
		}
	}
	return nil, "the volumes of a backup were not read yet"
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
