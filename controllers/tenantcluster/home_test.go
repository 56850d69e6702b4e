package tenantcluster

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusternamespace"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/customerkubeconfig"
)

// foreign: the namespace for the Cluster may be another customer's, so nothing in it was looked at.
func foreign(o *observation) {
	o.home = homeOf(clusternamespace.Foreign, "acme-clusters")
	o.made, o.link = clusterAPICluster{presence: optionalkind.Absent}, nil
	o.credentials = credentials{problem: o.home.problem}
}

func TestAClusterIsMadeOnlyInANamespaceOfItsCustomers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observation)
		reason string
		says   string
	}{
		"another's": {func(o *observation) { notMade(o); foreign(o) }, tenancyv1alpha1.ReasonNamespaceConflict, metav1alpha1.LabelClustersOf},
		"not there yet": {func(o *observation) { notMade(o); o.home = homeOf(clusternamespace.Absent, "acme-clusters") },
			tenancyv1alpha1.ReasonProvisioning, "namespace acme-clusters is being made"},
		"being removed": {func(o *observation) { notMade(o); o.home = homeOf(clusternamespace.Terminating, "acme-clusters") },
			tenancyv1alpha1.ReasonProvisioning, "made anew"},
		"a class of their own": {func(o *observation) { notMade(o); o.cluster.Spec.Topology.ClassRef.Namespace = "acme" },
			tenancyv1alpha1.ReasonClassNotAllowed, "--class-namespaces"},
		"a class that was permitted before": {func(o *observation) { o.cluster.Spec.Topology.ClassRef.Namespace = "acme" },
			tenancyv1alpha1.ReasonClassNotAllowed, "--class-namespaces"},
	} {
		o := ordered()
		test.change(&o)
		p := newPlan(o)
		if p.order.create != nil || p.order.update != nil || p.order.dryRun != nil {
			t.Errorf("%s: planned %+v", name, p.order)
		}
		status := reported(o).status
		if got := conditionTexts(status, metav1alpha1.ConditionReady); got != "Ready=False/"+test.reason || !strings.Contains(readyMessage(status), test.says) {
			t.Errorf("%s: %s: %s", name, got, readyMessage(status))
		}
	}
}

func TestAClusterWhoseNamespaceIsNoLongerMarkedIsNotForgotten(t *testing.T) {
	o := ordered()
	foreign(&o)
	deleted(&o)
	removing(&o)
	if p := newPlan(o); p.release || p.order.delete || !strings.Contains(p.deletion.Waits, metav1alpha1.LabelClustersOf) {
		t.Errorf("planned %+v", p)
	}
	o.cluster.Status.OrderedVersion = ""
	if p := newPlan(o); !p.release {
		t.Errorf("where nothing was ordered: planned %+v", p)
	}
}

// handedOut is an order whose customer has the kubeconfig.
func handedOut(t *testing.T) observation {
	t.Helper()
	o := ordered()
	o.cluster.UID = "1"
	desired, err := customerkubeconfig.Desired(o.cluster, kubeconfig.Access{Server: "https://prod.example", Token: "token"})
	if err != nil {
		t.Fatal(err)
	}
	o.handout = handout{desired: desired, found: &metav1.PartialObjectMetadata{ObjectMeta: *desired.ObjectMeta.DeepCopy()}}
	return o
}

func TestTheCustomersKubeconfigFollowsTheCluster(t *testing.T) {
	for name, test := range map[string]struct {
		change        func(*observation)
		write, remove bool
		provided      string
	}{
		"as it is":                      {func(*observation) {}, false, false, "KubeconfigProvided=True/Provided"},
		"not yet":                       {func(o *observation) { o.handout.found = nil }, true, false, "KubeconfigProvided=True/Provided"},
		"outdated":                      {func(o *observation) { o.handout.found.Labels[metav1alpha1.LabelHash] = "v1-before" }, true, true, "KubeconfigProvided=True/Provided"},
		"somebody's":                    {func(o *observation) { o.handout.found.OwnerReferences = nil }, false, false, "KubeconfigProvided=False/SecretExists"},
		"nothing to give":               {func(o *observation) { o.handout.desired = nil }, false, false, ""},
		"deleted, with targets":         {func(o *observation) { deleted(o); stillThere(o, "a") }, false, false, ""},
		"deleted, and the cluster goes": {func(o *observation) { deleted(o); removing(o) }, false, true, ""},
		"deleted, and it is somebody's": {func(o *observation) { deleted(o); removing(o); o.handout.found.OwnerReferences = nil }, false, false, ""},
	} {
		o := handedOut(t)
		test.change(&o)
		p := newPlan(o)
		if (p.handout.Write != nil) != test.write || (p.handout.Remove != nil) != test.remove {
			t.Errorf("%s: planned %+v", name, p.handout)
		}
		if got := conditionTexts(reported(o).status, tenancyv1alpha1.ConditionKubeconfigProvided); got != test.provided {
			t.Errorf("%s: reported %q", name, got)
		}
	}
}

func TestAKubeconfigThatCannotBeWrittenIsTold(t *testing.T) {
	o := handedOut(t)
	o.handout.found = nil
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, handout: errors.New("create Secret prod-access: exceeded quota")})
	if got := conditionTexts(said.status, tenancyv1alpha1.ConditionKubeconfigProvided, metav1alpha1.ConditionReady); got != "KubeconfigProvided=False/NotWritten Ready=True/Succeeded" {
		t.Error(got)
	}
	if first := said.events[0]; !strings.Contains(first.note, "exceeded quota") {
		t.Errorf("events %+v", said.events)
	}
	behind := apierrors.NewConflict(corev1.Resource("secrets"), "prod-access", errors.New("the cache is behind"))
	if said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, handout: behind}); conditionTexts(said.status, tenancyv1alpha1.ConditionKubeconfigProvided) != "" {
		t.Error("a cache that is behind is told")
	}
}
