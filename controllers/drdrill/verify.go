package drdrill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
	"github.com/daytwo-dev/daytwo/controllers/internal/recovery"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxRestored is how many objects of one kind a drill compares.
const maxRestored = 50_000

// Do implements run.TaskKind.
func (r *Reconciler) Do(ctx context.Context, v view, task string) (func(*backupv1alpha1.DRDrillStatus), error) {
	switch task {
	case taskChoose:
		record, err := r.choose(ctx, v)
		var wrong *mistake
		if errors.As(err, &wrong) {
			return func(status *backupv1alpha1.DRDrillStatus) {
				status.Checks = []backupv1alpha1.DrillCheck{check(backupv1alpha1.CheckBackup, backupv1alpha1.CheckNotChecked, "%s", wrong)}
			}, nil
		}
		return record, err
	case taskOrder:
		return func(*backupv1alpha1.DRDrillStatus) {}, r.order(ctx, v.Run)
	case taskPassword:
		return func(*backupv1alpha1.DRDrillStatus) {}, r.setPassword(ctx, v)
	case taskVerify:
		return r.verify(ctx, v)
	case taskAssert:
		return r.assert(ctx, v)
	case taskCopy:
		return r.copyEvidence(ctx, v)
	case taskEvidence:
		return r.writeEvidence(ctx, v)
	}
	return nil, refuse("task %s is none of a DRDrill's", task)
}

// verify is the task that compares what was restored with the archive.
func (r *Reconciler) verify(ctx context.Context, v view) (func(*backupv1alpha1.DRDrillStatus), error) {
	drill := v.Run
	cluster, err := clusterOf(v, actionRestore)
	if err != nil {
		return nil, err
	}
	_, store, err := r.bucketOf(ctx, drill)
	if err != nil {
		return nil, err
	}
	c, backup := newComparison(drill), drill.Status.Source.Backup
	if err := readArchive(ctx, store, backup, c.expect); err != nil {
		return nil, err
	}
	listed, err := store.ResourceList(ctx, backup)
	if err != nil {
		return nil, refuseIfUnreadable(err)
	}
	c.expectListed(listed)
	if err := c.readRestored(ctx, cluster); err != nil {
		return nil, err
	}
	if err := c.explain(ctx, store); err != nil {
		return nil, err
	}
	checks := c.checks()
	return func(status *backupv1alpha1.DRDrillStatus) { status.Checks = checks }, nil
}

// clusterOf a drill is the one in which an action of it was done. An error is tried again.
func clusterOf(v view, since string) (*fleet.Cluster, error) {
	cluster := v.Cluster(targetKey(v.Run))
	if cluster == nil {
		return nil, fmt.Errorf("TenantCluster %s is not connected", targetKey(v.Run))
	}
	if id := v.Run.Status.Action(since).ClusterID; string(cluster.ID) != id {
		return nil, refuse("TenantCluster %s leads to another cluster than when the drill began there", targetKey(v.Run))
	}
	return cluster, nil
}

// comparison of what was restored with the archive.
type comparison struct {
	drill   *backupv1alpha1.DRDrill
	mapping recovery.Mapping
	// kinds that are expected, by namespace.
	kinds map[inNamespace]schema.GroupVersionKind
	// expected digests of the objects, by how they are called after the restore.
	expected map[recovery.Item]string
	// missing are those of them that are not in the cluster.
	missing map[recovery.Item]string
	// differing are the objects that were restored otherwise, and how.
	differing map[recovery.Item]*difference
	// archived are the objects of the archive in the namespaces of the drill, by kind and name, and lost are those that the
	// backup is said to have, and the archive has not.
	archived map[string]bool
	lost     []string
	// kept is how many bytes of differing objects are.
	kept int
	// volumes are the claims among what is expected.
	volumes int
}

// inNamespace is a resource in one namespace of the drill.
type inNamespace struct {
	namespace string
	resource  schema.GroupResource
}

// difference of one object.
type difference struct {
	restored *unstructured.Unstructured
	fields   []string
	// wasThere: the object was in the cluster before, and stayed as it was.
	wasThere bool
}

func newComparison(drill *backupv1alpha1.DRDrill) *comparison {
	c := &comparison{
		drill: drill, mapping: recovery.Mapping{}, kinds: map[inNamespace]schema.GroupVersionKind{},
		expected: map[recovery.Item]string{}, differing: map[recovery.Item]*difference{}, archived: map[string]bool{},
	}
	for _, namespace := range drill.Status.Namespaces {
		c.mapping[namespace.Name] = namespace.RestoredAs
	}
	return c
}

// expect takes in an object of the archive.
func (c *comparison) expect(archived recovery.Item, object *unstructured.Unstructured) error {
	if c.mapping[archived.Namespace] != "" {
		c.archived[listedAs(object.GroupVersionKind(), archived.Namespace, archived.Name)] = true
	}
	item, wanted := c.restoredAs(archived, object)
	if !wanted {
		return nil
	}
	contain(object, exposed(c.drill))
	c.kinds[inNamespace{item.Namespace, item.Resource}] = object.GroupVersionKind()
	c.expected[item] = recovery.ArchivedDigest(object, c.mapping)
	if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "PersistentVolumeClaim"}) {
		c.volumes++
	}
	return nil
}

func listedAs(kind schema.GroupVersionKind, namespace, name string) string {
	return kind.GroupVersion().String() + "/" + kind.Kind + " " + namespace + "/" + name
}

// expectListed finds what the backup is said to have, and its archive has not.
func (c *comparison) expectListed(listed map[string][]string) {
	for kind, names := range listed {
		for _, name := range names {
			namespace, _, namespaced := strings.Cut(name, "/")
			if one := kind + " " + name; namespaced && c.mapping[namespace] != "" && !c.archived[one] {
				c.lost = append(c.lost, one)
			}
		}
	}
	slices.Sort(c.lost)
}

// restoredAs says what an object of the archive is called after the restore, and whether it is to be there. Objects that a
// controller made are made again by it, with other names and content.
func (c *comparison) restoredAs(archived recovery.Item, object *unstructured.Unstructured) (item recovery.Item, wanted bool) {
	namespace, chosen := c.mapping[archived.Namespace]
	if archived.Namespace == "" {
		chosen = c.isExpected(archived, object)
	}
	if !chosen || slices.Contains(c.drill.Status.LeftOut, archived.Resource.String()) || object.GetLabels()["owner"] == "helm" ||
		metav1.GetControllerOfNoCopy(object) != nil {
		return item, false
	}
	restored, _ := recovery.IsRestored(archived, object)
	archived.Namespace = namespace
	return archived, restored
}

// readRestored compares what is in the namespaces of the drill, kind by kind. A kind that the cluster does not serve is
// missing with all of its objects.
func (c *comparison) readRestored(ctx context.Context, cluster *fleet.Cluster) error {
	c.missing = maps.Clone(c.expected)
	for in, kind := range c.kinds {
		err := cluster.Each(ctx, kind, in.namespace, "", maxRestored, func(object *unstructured.Unstructured) error {
			c.compare(recovery.Item{Resource: in.resource, Namespace: in.namespace, Name: object.GetName()}, object)
			return nil
		})
		if err != nil && !meta.IsNoMatchError(err) {
			return err
		}
	}
	return nil
}

func (c *comparison) compare(item recovery.Item, object *unstructured.Unstructured) {
	if _, wanted := c.missing[item]; !wanted {
		return
	}
	delete(c.missing, item)
	if recovery.RestoredDigest(object) == c.expected[item] {
		return
	}
	found := &difference{wasThere: wasThere(c.drill, object)}
	if raw, err := object.MarshalJSON(); err == nil && c.kept+len(raw) <= maxKept {
		found.restored = object
		c.kept += len(raw)
	}
	c.differing[item] = found
}

// maxKept is how many bytes of objects are kept that are looked at field by field, since their digest differs.
const maxKept = 32 << 20

// explain reads the archive again for what differs: fields that the cluster alone has are its defaults, and no difference.
func (c *comparison) explain(ctx context.Context, store *backupstore.Store) error {
	if len(c.differing) == 0 {
		return nil
	}
	return readArchive(ctx, store, c.drill.Status.Source.Backup, func(archived recovery.Item, object *unstructured.Unstructured) error {
		item, wanted := c.restoredAs(archived, object)
		found := c.differing[item]
		if !wanted || found == nil || found.restored == nil {
			return nil
		}
		contain(object, exposed(c.drill))
		if found.fields = recovery.Differences(object, found.restored, c.mapping); len(found.fields) == 0 {
			delete(c.differing, item)
		}
		return nil
	})
}

// checks tell what came of the comparison.
func (c *comparison) checks() []backupv1alpha1.DrillCheck {
	all, restored := len(c.expected), len(c.expected)-len(c.missing)
	complete := check(backupv1alpha1.CheckCompleteness, backupv1alpha1.CheckPassed, "%d of %s restored", restored, plural.Of(all, "object|was|were"))
	if len(c.missing) > 0 {
		complete = check(backupv1alpha1.CheckCompleteness, backupv1alpha1.CheckFailed, "%d of %s restored; missing: %s",
			restored, plural.Of(all, "object|was|were"), truncate.Names(c.missingNames(), maxNamed))
	}
	if len(c.lost) > 0 {
		complete = check(backupv1alpha1.CheckCompleteness, backupv1alpha1.CheckFailed, "%s not in its archive, though the backup is said to have them: %s",
			plural.Of(len(c.lost), "object|is|are"), truncate.Names(c.lost, maxNamed))
	}
	volumes := check(backupv1alpha1.CheckVolumes, backupv1alpha1.CheckPassed, "the backup has no volumes in these namespaces")
	if c.volumes > 0 {
		volumes = check(backupv1alpha1.CheckVolumes, backupv1alpha1.CheckNotChecked,
			"the content of %s not compared: Velero restores a volume without a snapshot or a file-system backup empty", plural.Of(c.volumes, "volume|was|was"))
	}
	return []backupv1alpha1.DrillCheck{complete, c.digestsCheck(restored), volumes}
}

// digestsCheck tells of the content of what was restored. What was there already was left as it was, for people to look at.
func (c *comparison) digestsCheck(restored int) backupv1alpha1.DrillCheck {
	var differing, older []string
	for item, one := range c.differing {
		if one.wasThere {
			older = append(older, c.describeDifference(item))
			continue
		}
		differing = append(differing, c.describeDifference(item))
	}
	slices.Sort(differing)
	slices.Sort(older)
	switch {
	case restored == 0:
		return check(backupv1alpha1.CheckDigests, backupv1alpha1.CheckNotChecked, "nothing was restored")
	case len(differing) > 0:
		return check(backupv1alpha1.CheckDigests, backupv1alpha1.CheckFailed, "%d of %s from the archive: %s",
			len(differing), plural.Of(restored, "object|differs|differ"), truncate.Names(differing, maxNamed))
	case len(older) > 0:
		return check(backupv1alpha1.CheckDigests, backupv1alpha1.CheckNotChecked,
			"%d of %s in the cluster already, and not as in the archive; nothing was changed there: %s", len(older), plural.Of(restored, "object|was|were"), truncate.Names(older, maxNamed))
	}
	return check(backupv1alpha1.CheckDigests, backupv1alpha1.CheckPassed, "%s the content of the archive", plural.Of(restored, "object|has|have"))
}

func describe(item recovery.Item) string {
	if item.Namespace == "" {
		return fmt.Sprintf("%s %s", item.Resource, item.Name)
	}
	return fmt.Sprintf("%s %s/%s", item.Resource, item.Namespace, item.Name)
}

func (c *comparison) describeDifference(item recovery.Item) string {
	if fields := c.differing[item].fields; len(fields) > 0 {
		return describe(item) + " (" + strings.Join(fields[:min(len(fields), maxNamed)], ", ") + ")"
	}
	return describe(item)
}

func (c *comparison) missingNames() (missing []string) {
	for item := range c.missing {
		missing = append(missing, describe(item))
	}
	slices.Sort(missing)
	return missing
}
