package backup

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// TestADrillIsKilledAfterEachStep kills the manager whenever a drill has recorded another step.
func TestADrillIsKilledAfterEachStep(t *testing.T) {
	c := newCustomer(t, "workload-11")
	policy := c.backedUp("workload-11", shop)
	inPlace := c.drill(policy, "workload-11", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	c.killAfterEachStep(inPlace)
	c.awaitNothingLeft(inPlace, "workload-11")
	c.removeDrill(inPlace)

	ordered := c.drill(policy, "workload-11", backupv1alpha1.DrillTarget{
		Mode: backupv1alpha1.DrillEphemeral, Ephemeral: &backupv1alpha1.EphemeralCluster{Topology: small()},
	})
	c.killAfterEachStep(ordered)
	c.awaitNothingLeft(ordered, "workload-11")
	clusters := &tenancyv1alpha1.TenantClusterList{}
	must(t, env.Admin.List(t.Context(), clusters, client.InNamespace(c.namespace)))
	for i := range clusters.Items {
		if one := &clusters.Items[i]; one.Name != "workload-11" {
			c.awaitGone(one)
		}
	}
	c.removeDrill(ordered)
	c.remove(policy)
}

// TestADrillFindsWhatIsWrong gives drills backups, and places to restore them to, that are not as they should be.
func TestADrillFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-12")
	policy := c.backedUp("workload-12", shop)
	enrollment := c.enrollment(t.Context(), policy, "workload-12")
	name := enrollment.Status.LastSuccessful.Name
	path := filepath.Join(c.bucketDir, enrollment.Status.Velero.Prefix, "backups", name, name+".tar.gz")
	whole, err := os.ReadFile(path)
	must(t, err)
	inPlace := backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}
	// The namespace has one ConfigMap by itself.
	full := backupv1alpha1.DrillTarget{Mode: inPlace.Mode, Quota: corev1.ResourceList{"count/configmaps": resource.MustParse("1")}}
	for _, row := range []struct {
		name    string
		archive []byte
		change  func(*backupv1alpha1.DRDrill)
		checks  map[string]string
		verdict backupv1alpha1.DrillVerdict
	}{
		{name: "an object is gone from the archive", archive: without(t, whole, "/settings.json"), checks: map[string]string{
			backupv1alpha1.CheckCompleteness: "v1/ConfigMap shop/settings", backupv1alpha1.CheckRestore: "",
		}},
		{name: "the archive is damaged", archive: whole[:len(whole)/2], checks: map[string]string{backupv1alpha1.CheckBackup: "damaged"}},
		{name: "the archive is gone", checks: map[string]string{backupv1alpha1.CheckBackup: "has no " + enrollment.Status.Velero.Prefix}},
		{name: "the cluster refuses an object", archive: whole, change: func(drill *backupv1alpha1.DRDrill) { drill.Spec.Target = full }, checks: map[string]string{
			backupv1alpha1.CheckRestore: "PartiallyFailed with 1 errors", backupv1alpha1.CheckCompleteness: "configmaps shop-drill-",
		}},
		{name: "there is no such backup", archive: whole, change: func(drill *backupv1alpha1.DRDrill) {
			drill.Spec.Backup = backupv1alpha1.BackupChoice{Select: backupv1alpha1.BackupNamed, Name: "missing"}
		}, verdict: backupv1alpha1.DrillInconclusive, checks: map[string]string{backupv1alpha1.CheckBackup: "the bucket has no backup missing"}},
		{name: "the policy does not back up the cluster", archive: whole, change: func(drill *backupv1alpha1.DRDrill) {
			drill.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "somebody-else", Name: "prod"}
		}, verdict: backupv1alpha1.DrillInconclusive, checks: map[string]string{backupv1alpha1.CheckBackup: "does not back up TenantCluster somebody-else/prod"}},
	} {
		must(t, os.Remove(path))
		if row.archive != nil {
			must(t, os.WriteFile(path, row.archive, 0o600))
		}
		drill := c.newDrill(policy, "workload-12", inPlace)
		if row.change != nil {
			row.change(drill)
		}
		must(t, env.Admin.Create(t.Context(), drill))
		c.awaitVerdict(drill, cmp.Or(row.verdict, backupv1alpha1.DrillFailed))
		for check, want := range row.checks {
			result := backupv1alpha1.CheckFailed
			switch {
			case want == "":
				result = backupv1alpha1.CheckPassed
			case row.verdict == backupv1alpha1.DrillInconclusive:
				result = backupv1alpha1.CheckNotChecked
			}
			if got := checkOf(drill, check); got.Result != result || !strings.Contains(got.Message, want) {
				t.Errorf("%s: %s is %+v, want %s: %s", row.name, check, got, result, want)
			}
		}
		c.awaitNothingLeft(drill, "workload-12")
		c.removeDrill(drill)
		if row.archive == nil {
			must(t, os.WriteFile(path, whole, 0o600))
		}
	}
	c.remove(policy)
}

// without is an archive without the entries whose names end so.
func without(t *testing.T, archive []byte, ending string) []byte {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	must(t, err)
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	entries, kept := tar.NewReader(unzipped), tar.NewWriter(zipped)
	removed := 0
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if strings.HasSuffix(header.Name, ending) {
			removed++
			continue
		}
		must(t, kept.WriteHeader(header))
		_, err = io.Copy(kept, entries)
		must(t, err)
	}
	must(t, errors.Join(kept.Close(), zipped.Close()))
	if removed == 0 {
		t.Fatalf("the archive has no %s", ending)
	}
	return out.Bytes()
}

func TestADrillStaysWhatItIs(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	drill := c.newDrill(c.policy("none"), "prod", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	must(t, env.Admin.Create(t.Context(), drill))
	for patch, want := range map[string]string{
		`{"spec":{"policyName":"other"}}`:             "only spec.cancel can be changed",
		`{"spec":{"namespaces":{"include":["a"]}}}`:   "only spec.cancel can be changed",
		`{"spec":{"alsoRestore":["Ingresses"]}}`:      "only spec.cancel can be changed",
		`{"spec":{"startBy":"2100-01-01T00:00:00Z"}}`: "only spec.cancel can be changed",
		`{"spec":{"cancel":true}}`:                    "",
	} {
		err := env.Admin.Patch(t.Context(), drill.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
		if want == "" && err != nil || want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", patch, err)
		}
	}
	for name, target := range map[string]backupv1alpha1.DrillTarget{
		"a standby without a name":      {Mode: backupv1alpha1.DrillStandby},
		"a standby that was backed up":  {Mode: backupv1alpha1.DrillStandby, StandbyName: "prod"},
		"a name that belongs to no one": {Mode: backupv1alpha1.DrillNamespaceMapped, StandbyName: "spare"},
	} {
		wrong := c.newDrill(c.policy("none"), "prod", target)
		wrong.Name = "wrong"
		if err := env.Admin.Create(t.Context(), wrong); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.removeDrill(drill)

	late := c.newDrill(c.policy("none"), "prod", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	late.Spec.StartBy = ptr.To(metav1.Now())
	must(t, env.Admin.Create(t.Context(), late))
	c.awaitVerdict(late, backupv1alpha1.DrillSkipped)
	if begun := len(late.Status.Tasks) + len(late.Status.Actions); begun > 0 {
		t.Errorf("a drill that was skipped has %d steps", begun)
	}
	c.removeDrill(late)
}
