package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// shop is what the clusters run that are drilled: kinds that a restore changes on its way, or that a drill leaves out.
const shop = `
kind: Namespace
apiVersion: v1
metadata: {name: shop}
---
kind: ConfigMap
apiVersion: v1
metadata: {name: settings, namespace: shop, labels: {app: web, daytwo.dev/managed-by: somebody}, annotations: {note: kept}}
data: {colour: blue}
---
kind: Secret
apiVersion: v1
metadata: {name: password, namespace: shop}
stringData: {password: open-sesame}
---
kind: Secret
apiVersion: v1
metadata: {name: sh.helm.release.v1.web.v1, namespace: shop, labels: {owner: helm}}
type: helm.sh/release.v1
---
kind: ServiceAccount
apiVersion: v1
metadata: {name: web, namespace: shop}
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: web, namespace: shop}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: web, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}, {kind: ServiceAccount, name: other, namespace: elsewhere}]
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {serviceAccountName: web, containers: [{name: web, image: "example.com/web:1"}]}
---
kind: Service
apiVersion: v1
metadata: {name: web, namespace: shop}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80, nodePort: 30080}, {name: dns, port: 53, protocol: UDP}]}
---
kind: Service
apiVersion: v1
metadata: {name: headless, namespace: shop}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}
---
kind: CronJob
apiVersion: batch/v1
metadata: {name: report, namespace: shop}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: report, image: "example.com/report:1"}]}}}}
---
kind: Job
apiVersion: batch/v1
metadata: {name: migration, namespace: shop}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: migration, image: "example.com/migration:1"}]}}}
---
kind: Ingress
apiVersion: networking.k8s.io/v1
metadata: {name: web, namespace: shop}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
kind: NetworkPolicy
apiVersion: networking.k8s.io/v1
metadata: {name: allow-all, namespace: shop}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}
---
kind: PodDisruptionBudget
apiVersion: policy/v1
metadata: {name: web, namespace: shop}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
kind: HorizontalPodAutoscaler
apiVersion: autoscaling/v2
metadata: {name: web, namespace: shop}
spec: {minReplicas: 1, maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`

// TestADrillBesideWhatWasBackedUp is a rehearsal that passes, and leaves nothing.
func TestADrillBesideWhatWasBackedUp(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-7")
	policy := c.backedUp("workload-7", shop)
	before := c.everything("workload-7", "shop")

	drill := c.drill(policy, "workload-7", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	c.awaitVerdict(drill, backupv1alpha1.DrillPassed)
	status := drill.Status
	if status.Source == nil || status.DataAge == nil || status.RecoveryTime == nil || status.RestoreTime == nil {
		t.Fatalf("not everything was measured: %+v", status)
	}
	if stopped := time.Since(status.StartedAt.Time); status.RecoveryTime.Duration > stopped || status.RestoreTime.Duration > status.RecoveryTime.Duration {
		t.Errorf("the recovery took %s, the restore %s, and the clock says %s", status.RecoveryTime.Duration, status.RestoreTime.Duration, stopped)
	}
	if want := []string{"ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io"}; !slices.Equal(status.LeftOut, want) {
		t.Errorf("left out are %v, want %v", status.LeftOut, want)
	}
	proven := c.awaitCondition(policy, "workload-7", backupv1alpha1.ConditionRecoveryProven, metav1.ConditionTrue, backupv1alpha1.ReasonDrillPassed)
	if !strings.Contains(proven.Message, drill.Name) || !strings.Contains(proven.Message, status.Source.Backup) {
		t.Errorf("RecoveryProven says %q", proven.Message)
	}
	c.awaitCondition(policy, "workload-7", backupv1alpha1.ConditionRTOMet, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.verifyEvidence(policy, "workload-7", drill)
	c.awaitNothingLeft(drill, "workload-7")
	if after := c.everything("workload-7", "shop"); after != before {
		t.Errorf("the drill changed what it rehearsed:\nbefore %s\nafter %s", before, after)
	}
	c.removeDrill(drill)

	again := c.newDrill(policy, "workload-7", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	again.Name = "again"
	again.Spec.Verify.Assertions = []backupv1alpha1.DrillAssertion{
		{Name: "web-runs-twice", APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Expression: "objects.exists(o, o.metadata.name == 'web' && o.status.readyReplicas == 2)"},
		{Name: "colour", APIVersion: "v1", Kind: "ConfigMap", Expression: "objects.exists(o, o.?data.colour.orValue('') == 'blue')"},
	}
	again.Spec.Verify.Jobs = []backupv1alpha1.DrillJob{{Name: "query", Namespace: "shop", Image: "example.com/query:1", Command: []string{"query", "--all"}, ServiceAccountName: "web"}}
	must(t, env.Admin.Create(t.Context(), again))
	c.awaitVerdict(again, backupv1alpha1.DrillPassed)
	for _, name := range []string{"Assertion/web-runs-twice", "Assertion/colour", "Job/query"} {
		if one := checkOf(again, name); one.Result != backupv1alpha1.CheckPassed {
			t.Errorf("%s: %+v", name, one)
		}
	}
	c.verifyEvidence(policy, "workload-7", drill, again)
	c.awaitNothingLeft(again, "workload-7")
	c.removeDrill(again)

	wrong := c.newDrill(policy, "workload-7", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	wrong.Name = "wrong"
	wrong.Spec.Verify.Assertions = []backupv1alpha1.DrillAssertion{{Name: "red", APIVersion: "v1", Kind: "ConfigMap", Expression: "objects.exists(o, o.?data.colour.orValue('') == 'red')"}}
	wrong.Spec.Verify.Jobs = []backupv1alpha1.DrillJob{{
		// Without its ServiceAccount it gets no pod.
		Name: "stuck", Namespace: "shop", Image: "example.com/query:1", ServiceAccountName: "nobody", Timeout: &metav1.Duration{Duration: 10 * time.Second},
	}}
	must(t, env.Admin.Create(t.Context(), wrong))
	c.awaitVerdict(wrong, backupv1alpha1.DrillFailed)
	for name, word := range map[string]string{"Assertion/red": "is not true of", "Job/stuck": "DeadlineExceeded"} {
		if one := checkOf(wrong, name); one.Result != backupv1alpha1.CheckFailed || !strings.Contains(one.Message, word) {
			t.Errorf("%s: %+v", name, one)
		}
	}
	c.removeDrill(wrong)
	c.remove(policy)
}

// verifyEvidence checks the evidence of drills, the last one last, with the program itself, and that it finds one to be missing.
func (c *customer) verifyEvidence(policy *backupv1alpha1.BackupPolicy, cluster string, drills ...*backupv1alpha1.DRDrill) {
	c.t.Helper()
	head, count, last := "", len(drills), drills[len(drills)-1].Name+"-evidence-"
	var files []string
	expect.Eventually(c.t, fmt.Sprintf("there is evidence of %d drills", count), func(ctx context.Context) error {
		chain, list := c.enrollment(ctx, policy, cluster).Status.Evidence, &corev1.ConfigMapList{}
		if err := env.Admin.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelPolicy: policy.Name}); err != nil {
			return err
		}
		if chain == nil || !strings.HasPrefix(chain.ConfigMapName, last) || len(list.Items) != count {
			return fmt.Errorf("the chain is %+v, with %d documents", chain, len(list.Items))
		}
		head, files = chain.Head, nil
		for _, one := range list.Items {
			file := filepath.Join(c.t.TempDir(), one.Name+".json")
			files = append(files, file)
			err := errors.Join(os.WriteFile(file, []byte(one.Data["evidence.json"]), 0o600), os.WriteFile(file+".sig", []byte(one.Data["evidence.json.sig"]), 0o600))
			if err != nil {
				return err
			}
		}
		return nil
	})
	verify := func(files ...string) (string, error) {
		out, err := exec.CommandContext(c.t.Context(), env.Manager.Binary(), append([]string{"evidence", "verify", "--key", publicKey, "--head", head}, files...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := verify(files...); err != nil || !strings.Contains(out, fmt.Sprintf("the chain of %d documents is whole", count)) {
		c.t.Errorf("%s%v", out, err)
	}
	must(c.t, os.WriteFile(files[0]+".sig", []byte("bm9ib2R5"), 0o600))
	if out, err := verify(files...); err == nil || !strings.Contains(out, "the signature of "+files[0]) {
		c.t.Errorf("a signature that is none is taken for one: %s%v", out, err)
	}
	if count > 1 {
		for i := range files {
			if out, err := verify(slices.Concat(files[:i], files[i+1:])...); err == nil || !strings.Contains(out, "missing") {
				c.t.Errorf("one that is missing is not missed: %s%v", out, err)
			}
		}
	}
}

// TestADrillIsContained looks into a drill that fails, and stays for a while.
func TestADrillIsContained(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-8")
	policy := c.backedUp("workload-8", strings.Replace(shop, "{serviceAccountName: web,", "{nodeSelector: {disk: none}, serviceAccountName: web,", 1))
	drill := c.newDrill(policy, "workload-8", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	drill.Spec.Verify.ReadinessTimeout = &metav1.Duration{Duration: 10 * time.Second}
	drill.Spec.Cleanup.KeepFailedFor = &metav1.Duration{Duration: time.Hour}
	must(t, env.Admin.Create(t.Context(), drill))
	c.awaitVerdict(drill, backupv1alpha1.DrillFailed)
	c.awaitCondition(policy, "workload-8", metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonDrillFailed)
	if ready := checkOf(drill, backupv1alpha1.CheckReadiness); ready.Result != backupv1alpha1.CheckFailed || !strings.Contains(ready.Message, "Deployment") {
		t.Errorf("Readiness is %+v", ready)
	}
	for _, name := range []string{backupv1alpha1.CheckRestore, backupv1alpha1.CheckCompleteness, backupv1alpha1.CheckDigests} {
		if one := checkOf(drill, name); one.Result != backupv1alpha1.CheckPassed {
			t.Errorf("%s is %+v", name, one)
		}
	}
	sandbox, workload := drill.Status.Namespaces[0].RestoredAs, c.workload("workload-8")
	namespace := &corev1.Namespace{}
	must(t, workload.Get(t.Context(), client.ObjectKey{Name: sandbox}, namespace))
	if namespace.Labels["velero.io/exclude-from-backup"] != "true" {
		t.Errorf("the sandbox would be backed up: its labels are %v", namespace.Labels)
	}
	services := &corev1.ServiceList{}
	must(t, workload.List(t.Context(), services, client.InNamespace(sandbox)))
	for _, service := range services.Items {
		if service.Spec.Type != corev1.ServiceTypeClusterIP || service.Spec.Ports[0].NodePort != 0 {
			t.Errorf("Service %s is of type %s with node port %d", service.Name, service.Spec.Type, service.Spec.Ports[0].NodePort)
		}
	}
	policies := &networkingv1.NetworkPolicyList{}
	must(t, workload.List(t.Context(), policies, client.InNamespace(sandbox)))
	if len(policies.Items) != 1 || len(policies.Items[0].Spec.PolicyTypes) != 2 || len(policies.Items[0].Spec.Egress)+len(policies.Items[0].Spec.Ingress) != 0 {
		t.Errorf("the sandbox has the NetworkPolicies %+v", policies.Items)
	}
	if text := c.everything("workload-8", sandbox); strings.Contains(text, "Ingress ") || strings.Contains(text, "sh.helm.release") || strings.Contains(text, "somebody") || !strings.Contains(text, "suspended CronJob report") {
		t.Errorf("the sandbox has %s", text)
	}
	c.removeDrill(drill)
	c.awaitNothingLeft(drill, "workload-8")
	c.remove(policy)
}

// backedUp has a cluster run manifests, and waits for a backup of them.
func (c *customer) backedUp(cluster, manifests string) *backupv1alpha1.BackupPolicy {
	c.t.Helper()
	for _, text := range strings.Split(manifests, "\n---\n") {
		object := &unstructured.Unstructured{}
		must(c.t, yaml.Unmarshal([]byte(text), &object.Object))
		must(c.t, c.workload(cluster).Create(c.t.Context(), object))
	}
	policy := c.yearly("nightly")
	policy.Spec.ClusterSelector, policy.Spec.ClusterNames = nil, []string{cluster}
	policy.Spec.Objectives.RTO = &metav1.Duration{Duration: 10 * time.Minute}
	policy.Spec.Template.IncludeClusterResources = ptr.To(true)
	c.create(policy)
	c.awaitReady(policy)
	expect.Eventually(c.t, "the Deployment is observed", func(ctx context.Context) error {
		pods := &corev1.PodList{}
		if err := c.workload(cluster).List(ctx, pods, client.InNamespace("shop")); err != nil || len(pods.Items) < 2 {
			return fmt.Errorf("%d pods, %v", len(pods.Items), err)
		}
		return nil
	})
	c.annotate(policy, metav1alpha1.AnnotationBackupNow, "for the drill")
	c.awaitBackup(policy, cluster)
	return policy
}

func (c *customer) newDrill(policy *backupv1alpha1.BackupPolicy, cluster string, target backupv1alpha1.DrillTarget) *backupv1alpha1.DRDrill {
	return &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "rehearsal"},
		Spec: backupv1alpha1.DRDrillSpec{
			PolicyName: policy.Name, ClusterRef: metav1alpha1.ClusterReference{Namespace: c.namespace, Name: cluster}, DrillScope: backupv1alpha1.DrillScope{Target: target},
		},
	}
}

func (c *customer) drill(policy *backupv1alpha1.BackupPolicy, cluster string, target backupv1alpha1.DrillTarget) *backupv1alpha1.DRDrill {
	c.t.Helper()
	drill := c.newDrill(policy, cluster, target)
	must(c.t, env.Admin.Create(c.t.Context(), drill))
	return drill
}

func (c *customer) awaitVerdict(drill *backupv1alpha1.DRDrill, want backupv1alpha1.DrillVerdict) {
	c.t.Helper()
	expect.Eventually(c.t, "the drill is "+string(want), func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), drill); err != nil {
			return err
		}
		if drill.Status.Outcome == "" || drill.Status.Verdict != want {
			return fmt.Errorf("verdict %q, checks %+v, tasks %+v, %v", drill.Status.Verdict, drill.Status.Checks, drill.Status.Tasks, drill.Status.Conditions)
		}
		return nil
	})
}

func checkOf(drill *backupv1alpha1.DRDrill, name string) backupv1alpha1.DrillCheck {
	for _, one := range drill.Status.Checks {
		if one.Name == name {
			return one
		}
	}
	return backupv1alpha1.DrillCheck{}
}

// awaitNothingLeft waits until nothing is left in a cluster of what a drill made.
func (c *customer) awaitNothingLeft(drill *backupv1alpha1.DRDrill, cluster string) {
	c.t.Helper()
	expect.Eventually(c.t, "nothing is left of the drill", func(ctx context.Context) error {
		for kind, namespace := range map[string]string{
			"v1/Namespace": "", "v1/ConfigMap": "velero", "v1/Secret": "velero", "velero.io/v1/Restore": "velero", "velero.io/v1/BackupStorageLocation": "velero", "velero.io/v1/Backup": "velero",
		} {
			list := &unstructured.UnstructuredList{}
			at := strings.LastIndex(kind, "/")
			list.SetAPIVersion(kind[:at])
			list.SetKind(kind[at+1:] + "List")
			if err := c.workload(cluster).List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{metav1alpha1.LabelAction: string(drill.UID)}); err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("%s %s is left", kind, list.Items[0].GetName())
			}
		}
		return nil
	})
}

func (c *customer) removeDrill(drill *backupv1alpha1.DRDrill) {
	c.t.Helper()
	must(c.t, env.Admin.Delete(c.t.Context(), drill))
	expect.Eventually(c.t, "the drill is gone", func(ctx context.Context) error {
		gone := &backupv1alpha1.DRDrill{}
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v, %v", err, gone.Status.Conditions)
		}
		return nil
	})
}

// everything tells what is in a namespace of a cluster, and in which version.
func (c *customer) everything(cluster, namespace string) string {
	c.t.Helper()
	var told []string
	for _, kind := range []string{
		"v1/ConfigMap", "v1/Secret", "v1/ServiceAccount", "v1/Service", "rbac.authorization.k8s.io/v1/RoleBinding", "batch/v1/CronJob",
		"networking.k8s.io/v1/Ingress", "networking.k8s.io/v1/NetworkPolicy", "policy/v1/PodDisruptionBudget",
	} {
		list := &unstructured.UnstructuredList{}
		at := strings.LastIndex(kind, "/")
		list.SetAPIVersion(kind[:at])
		list.SetKind(kind[at+1:] + "List")
		must(c.t, c.workload(cluster).List(c.t.Context(), list, client.InNamespace(namespace)))
		for _, object := range list.Items {
			suspended := ""
			if set, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); set {
				suspended = "suspended "
			}
			told = append(told, fmt.Sprintf("%s%s %s %v %d", suspended, object.GetKind(), object.GetName(), object.GetLabels(), object.GetGeneration()))
		}
	}
	slices.Sort(told)
	return strings.Join(told, "\n")
}

// TestAPlanMakesDrills lets a policy rehearse by itself.
func TestAPlanMakesDrills(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-13")
	policy := c.backedUp("workload-13", shop)
	base := policy.DeepCopy()
	policy.Spec.Drills = []backupv1alpha1.DrillPlan{{
		Name: "often", Schedule: backupv1alpha1.Recurrence{Cron: "* * * * *", Spread: &metav1.Duration{}}, HistoryLimit: ptr.To[int32](1),
		DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
	}}
	must(t, env.Admin.Patch(t.Context(), policy, client.MergeFrom(base)))
	first := c.awaitPlanned(policy, "")
	second := c.awaitPlanned(policy, first)
	expect.Eventually(t, "the first drill is beyond the history limit", func(ctx context.Context) error {
		err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: first}, &backupv1alpha1.DRDrill{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there beside %s: %w", second, err)
		}
		return nil
	})
	if told := c.enrollment(t.Context(), policy, "workload-13").Status.DrillPlans; len(told) != 1 || told[0].Next == nil {
		t.Errorf("the status tells %+v", told)
	}
	wrong := policy.DeepCopy()
	wrong.Spec.Drills[0].Schedule.Cron = "whenever"
	if err := env.Admin.Patch(t.Context(), wrong, client.MergeFrom(policy)); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.drills[0].schedule.cron") {
		t.Errorf("got %v", err)
	}
	c.remove(policy)
}

// awaitPlanned waits for a drill other than one that has passed by a plan, and returns its name.
func (c *customer) awaitPlanned(policy *backupv1alpha1.BackupPolicy, other string) (name string) {
	c.t.Helper()
	expect.Eventually(c.t, "a drill has passed by plan", func(ctx context.Context) error {
		list := &backupv1alpha1.DRDrillList{}
		if err := env.Admin.List(ctx, list, client.InNamespace(c.namespace), client.MatchingLabels{metav1alpha1.LabelDrillPlan: policy.Spec.Drills[0].Name}); err != nil {
			return err
		}
		for _, drill := range list.Items {
			if drill.Name != other && drill.Status.FinishedAt != nil && drill.Status.Verdict == backupv1alpha1.DrillPassed {
				name = drill.Name
				return nil
			}
		}
		return fmt.Errorf("%d drills by plan; %+v", len(list.Items), c.enrollment(ctx, policy, "workload-13").Status.DrillPlans)
	})
	return name
}
