package tenantcluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/optionalkind"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/clusterapi"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/maintenancewindow"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

const ours = "installation"

// ordered is a TenantCluster whose cluster was ordered, made and connected.
func ordered() observation {
	o := settled()
	o.orders = topology.Options{Installation: ours}.Complete()
	o.cluster.Spec = tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
		ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "standard"}, Version: "v1.35.4",
	}}
	o.cluster.Status.OrderedVersion = "v1.35.4"
	o.maintenance.Open = true
	o.made = clusterAPICluster{live: topology.Desired(o.cluster, "v1.35.4", o.orders)}
	o.cluster.Status.TopologyHash = topology.Fingerprint(o.made.live)
	o.made.live.Spec.InfrastructureRef.Kind, o.made.live.Spec.InfrastructureRef.Name = "LocalCluster", "prod-x1"
	o.says("InfrastructureReady", metav1.ConditionTrue, "")
	o.says("ControlPlaneAvailable", metav1.ConditionTrue, "")
	o.says("WorkersAvailable", metav1.ConditionTrue, "")
	o.says("TopologyReconciled", metav1.ConditionTrue, "")
	return o
}

// says is what Cluster API says of the Cluster; the last word on a condition comes first.
func (o *observation) says(condition string, status metav1.ConditionStatus, message string) {
	o.made.live.Status.Conditions = append([]metav1.Condition{{Type: condition, Status: status, Reason: "Said", Message: message}},
		o.made.live.Status.Conditions...)
}

func notMade(o *observation) {
	o.made, o.link = clusterAPICluster{presence: optionalkind.Absent}, nil
	o.credentials = credentials{problem: &problem{tenancyv1alpha1.ReasonProvisioning, "The cluster is being ordered from Cluster API."}}
}

// removing: the step is on record since the deletion.
func removing(o *observation) {
	o.cluster.Status.Deletion = &tenancyv1alpha1.Deletion{Step: tenancyv1alpha1.DeletionRemovingCluster, Since: *o.cluster.DeletionTimestamp}
}

func upgrading(o *observation) { o.cluster.Spec.Topology.Version = "v1.36.3" }

func TestPlanOfAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observation)
		want   func(plan) bool
	}{
		"as ordered": {func(*observation) {}, func(d plan) bool {
			return d.order.create == nil && d.order.update == nil && !d.order.delete && d.order.problem == nil && d.order.step.Upgraded
		}},
		"nothing is there": {notMade, func(d plan) bool {
			return d.order.create != nil && topology.IsOurs(d.order.create, ours) && d.order.create.Name == "prod"
		}},
		"Cluster API is missing": {func(o *observation) { notMade(o); o.made.presence = optionalkind.NotInstalled },
			func(d plan) bool { return d.order.create == nil }},
		"nothing is ordered while suspended": {func(o *observation) { notMade(o); o.cluster.Spec.Suspend = true },
			func(d plan) bool { return d.order.create == nil && d.order.waits != "" }},
		"a window cannot be read": {func(o *observation) { notMade(o); o.maintenance.Invalid = "spec.maintenanceWindows[0].schedule: …" },
			func(d plan) bool { return d.order.create == nil && d.order.problem != nil }},
		"the Cluster is somebody else's": {func(o *observation) { o.made.live.Labels[metav1alpha1.LabelManagedBy] = "another" }, func(d plan) bool {
			return d.order.update == nil && d.order.problem != nil && d.order.problem.reason == tenancyv1alpha1.ReasonNameConflict
		}},
		"somebody deletes the Cluster": {func(o *observation) { at := metav1.NewTime(now); o.made.live.DeletionTimestamp = &at },
			func(d plan) bool { return d.order.create == nil && d.order.update == nil && d.order.waits != "" }},
		"an edit": {func(o *observation) { o.made.live.Spec.Topology.ClassRef.Name = "small" }, func(d plan) bool {
			return d.order.update != nil && d.order.edited && d.order.update.Spec.Topology.ClassRef.Name == "standard"
		}},
		"an edit that an order cannot say": {func(o *observation) {
			o.made.live.Spec.Topology.ControlPlane.Deletion.NodeDrainTimeoutSeconds, o.made.editor = ptr.To[int32](60), "kubectl-edit"
		}, func(d plan) bool { return d.order.update != nil && d.order.edited }},
		"it is not known how the order was taken": {func(o *observation) { o.cluster.Status.TopologyHash = "" },
			func(d plan) bool { return d.order.update == nil && d.order.filledIn != nil }},
		"defaults that came later do not hold an upgrade up": {func(o *observation) {
			upgrading(o)
			o.made.live.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "new"}}
		}, func(d plan) bool {
			return d.order.update == nil && d.order.filledIn != nil && d.order.dryRun != nil
		}},
		"somebody's webhook changes what is ordered": {func(o *observation) {
			upgrading(o)
			o.made.live.Spec.Topology.ControlPlane.Metadata.Labels = map[string]string{"policy": "says"}
			o.cluster.Status.TopologyHash = topology.Fingerprint(o.made.live)
		}, func(d plan) bool { return d.order.update == nil && d.order.dryRun != nil }},
		"another order": {func(o *observation) { o.cluster.Spec.Topology.ClassRef.Name = "large" },
			func(d plan) bool { return d.order.update != nil && !d.order.edited }},
		"an edit stays while suspended": {func(o *observation) {
			o.made.live.Spec.Topology.ClassRef.Name, o.cluster.Spec.Suspend = "small", true
		}, func(d plan) bool { return d.order.update == nil }},
		"an upgrade is rehearsed and put on record, not ordered": {upgrading, func(d plan) bool {
			return d.order.update == nil && d.order.step.Begin != nil && d.order.dryRun != nil && d.order.dryRun.Spec.Topology.Version == "v1.36.3"
		}},
		"an upgrade on record is ordered": {func(o *observation) {
			upgrading(o)
			o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
		}, func(d plan) bool {
			return d.order.dryRun == nil && d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.36.3"
		}},
		"an upgrade begins after other changes of the order": {func(o *observation) {
			upgrading(o)
			o.cluster.Spec.Topology.ClassRef.Name = "large"
		}, func(d plan) bool {
			return d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.35.4" && d.order.step.Begin == nil && d.order.dryRun == nil
		}},
		"deleted, and nobody can tell whether it is gone": {func(o *observation) {
			deleted(o)
			o.made = clusterAPICluster{presence: optionalkind.NotInstalled, unsettled: errors.New("no matches for kind")}
		}, func(d plan) bool { return !d.release && !d.order.delete }},
		"no upgrade begins while suspended": {func(o *observation) { upgrading(o); o.cluster.Spec.Suspend = true },
			func(d plan) bool { return d.order.step.Begin == nil && d.order.dryRun == nil }},
		"an edit is taken back while an upgrade waits": {func(o *observation) {
			upgrading(o)
			o.maintenance.Open = false
			o.made.live.Spec.Topology.ClassRef.Name = "small"
		}, func(d plan) bool {
			return d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.35.4" && d.order.step.Begin == nil
		}},
		"deleted, with targets": {func(o *observation) { deleted(o); stillThere(o, "a") },
			func(d plan) bool { return !d.release && !d.order.delete }},
		"deleted, without targets, which is put on record": {deleted, func(d plan) bool {
			return !d.release && !d.order.delete && d.deletion.Record.Step == tenancyv1alpha1.DeletionRemovingCluster
		}},
		"deleted, without targets": {func(o *observation) { deleted(o); removing(o) }, func(d plan) bool {
			return !d.release && d.order.delete && len(d.releaseSecrets) == 1 && d.connection == disconnect
		}},
		"deleted, and going": {func(o *observation) { deleted(o); o.made.live.DeletionTimestamp = o.cluster.DeletionTimestamp },
			func(d plan) bool { return !d.release && !d.order.delete }},
		"deleted, and gone": {func(o *observation) { deleted(o); o.made = clusterAPICluster{presence: optionalkind.Absent} },
			func(d plan) bool { return d.release }},
		"deleted, and somebody else's": {func(o *observation) { deleted(o); o.made.live.Labels[metav1alpha1.LabelManagedBy] = "another" },
			func(d plan) bool { return d.release && !d.order.delete }},
		"deleted, overdue, and not asked to go yet": {func(o *observation) { deleted(o); removing(o); o.now = now.Add(time.Hour) },
			func(d plan) bool { return !d.release && d.order.delete }},
		"deleted, overdue, and still going": {func(o *observation) {
			deleted(o)
			o.now, o.made.live.DeletionTimestamp = now.Add(time.Hour), o.cluster.DeletionTimestamp
			removing(o)
		}, func(d plan) bool { return d.release }},
	} {
		t.Run(name, func(t *testing.T) {
			seen := ordered()
			test.change(&seen)
			if d := newPlan(seen); !test.want(d) {
				t.Errorf("planned %+v", d)
			}
		})
	}
}

func TestReportOfAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observation)
		phase  tenancyv1alpha1.ClusterPhase
		want   string
		says   string
	}{
		"as ordered": {func(*observation) {}, tenancyv1alpha1.PhaseRunning, "Ready=True/Succeeded Provisioned=True/Available Upgraded=True/Upgraded", "Connected to"},
		"ordered just now": {notMade, tenancyv1alpha1.PhasePending,
			"Ready=False/Provisioning Reconciling=True/Provisioning", "being ordered"},
		"being made": {func(o *observation) {
			o.credentials, o.link = credentials{problem: &problem{tenancyv1alpha1.ReasonProvisioning, "no Secret"}}, nil
			o.says("InfrastructureReady", metav1.ConditionFalse, "no address is free")
		}, tenancyv1alpha1.PhaseProvisioning,
			"Ready=False/Provisioning Reconciling=True/Provisioning Provisioned=False/NotAvailable Upgraded=True/Upgraded", "LocalCluster prod-x1: no address is free"},
		"connected before all of it is there": {func(o *observation) { o.says("InfrastructureReady", metav1.ConditionFalse, "a rule is missing") },
			tenancyv1alpha1.PhaseProvisioning, "Ready=False/NotAvailable Reconciling=True/NotAvailable Provisioned=False/NotAvailable Upgraded=True/Upgraded", "a rule is missing"},
		"a part fails later": {func(o *observation) { o.says("ControlPlaneAvailable", metav1.ConditionFalse, "a member is down") },
			tenancyv1alpha1.PhaseRunning, "Ready=False/NotAvailable Reconciling=True/NotAvailable Provisioned=True/Available Upgraded=True/Upgraded", "a member is down"},
		"an upgrade runs": {func(o *observation) {
			upgrading(o)
			o.made.live.Spec.Topology.Version = "v1.36.3"
			o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
			o.says("TopologyReconciled", metav1.ConditionFalse, "the control plane rolls")
		}, tenancyv1alpha1.PhaseUpgrading, "Ready=True/Upgrading Reconciling=True/Upgrading Provisioned=True/Available Upgraded=False/Upgrading", "the control plane rolls"},
		"an upgrade waits": {func(o *observation) { upgrading(o); o.unready = []string{"AddonRelease acme/a"} },
			tenancyv1alpha1.PhaseRunning, "Ready=True/Succeeded Provisioned=True/Available Upgraded=False/TargetsNotReady", "Connected to"},
		"the version cannot follow": {func(o *observation) { o.cluster.Spec.Topology.Version = "v1.34.1" },
			tenancyv1alpha1.PhaseFailed, "Ready=False/VersionSkew Stalled=True/VersionSkew Provisioned=True/Available Upgraded=False/VersionSkew", "cannot be downgraded"},
		"unreachable": {func(o *observation) { o.link = &fleet.State{Phase: fleet.Unreachable, Message: "no answer"} },
			tenancyv1alpha1.PhaseUnreachable, "Ready=Unknown/ClusterUnreachable Reconciling=True/ClusterUnreachable Provisioned=True/Available Upgraded=True/Upgraded", "no answer"},
		"going": {deleted, tenancyv1alpha1.PhaseDeleting,
			"Ready=False/Deleting Reconciling=True/Deleting Provisioned=True/Available", "Cluster API removes Cluster prod"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := ordered()
			test.change(&seen)
			said := reported(seen)
			got := conditionTexts(said.status, metav1alpha1.ConditionReady, metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled,
				tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionUpgraded)
			if got != test.want || said.status.Phase != test.phase {
				t.Errorf("reported %s: %s\nwant %s: %s", said.status.Phase, got, test.phase, test.want)
			}
			if text := readyMessage(said.status); !strings.Contains(text, test.says) {
				t.Errorf("it says %q, without %q", text, test.says)
			}
		})
	}
}

func TestAnEditThatIsTakenBackIsTold(t *testing.T) {
	o := ordered()
	o.made.live.Spec.Topology.ClassRef.Name, o.made.editor = "small", "kubectl-edit"
	p := newPlan(o)
	for name, test := range map[string]struct {
		done result
		told bool
	}{
		"taken back":                            {result{order: clusterapi.Answer{Cluster: p.order.update}}, true},
		"taken back, and something else failed": {result{order: clusterapi.Answer{Cluster: p.order.update}, err: errors.New("no")}, true},
		"refused":                               {result{order: clusterapi.Answer{Refused: "no"}}, false},
		"it comes to the same":                  {result{order: clusterapi.Answer{Cluster: o.made.live}}, false},
	} {
		test.done.cluster, test.done.link = o.cluster, o.link
		said := newReport(o, p, test.done)
		told := len(said.happened) == 1 && strings.Contains(said.happened[0].note, "kubectl-edit changed the topology of Cluster prod")
		if told != test.told {
			t.Errorf("%s: told are %v", name, said.happened)
		}
		if taken := test.done.order.Cluster; taken != nil && said.status.TopologyHash != topology.Fingerprint(taken) {
			t.Errorf("%s: on record is %q", name, said.status.TopologyHash)
		}
	}
}

// The API server may have taken an edit back though its answer was lost: the next look tells.
func TestAnEditWhoseTakingBackIsNotAnsweredIsToldWhenItIsGone(t *testing.T) {
	edited := ordered()
	edited.made.live.Spec.Topology.ClassRef.Name, edited.made.editor = "small", "kubectl-edit"
	noAnswer := result{order: clusterapi.Answer{Lost: true}, err: errors.New("no answer within 15s")}
	noAnswer.cluster, noAnswer.link = edited.cluster, edited.link
	lost := newReport(edited, newPlan(edited), noAnswer)
	if lost.untold != "kubectl-edit" || len(lost.happened) > 0 {
		t.Fatalf("to be told is %q, told are %v", lost.untold, lost.happened)
	}

	for name, test := range map[string]struct {
		look    func() observation
		done    result
		told    bool
		remains string
	}{
		"it was taken back": {ordered, result{}, true, ""},
		"more was filled in when it was": {func() observation {
			o := ordered()
			o.made.live.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "new"}}
			return o
		}, result{}, true, ""},
		"something else fails":                      {ordered, result{err: errors.New("no")}, false, "kubectl-edit"},
		"it was in vain, and is not answered again": {func() observation { return edited }, noAnswer, false, "kubectl-edit"},
		"it was in vain, and is refused": {func() observation { return edited },
			result{order: clusterapi.Answer{Refused: "no"}}, false, "kubectl-edit"},
		"it was in vain, and is done now": {func() observation { return edited },
			result{order: clusterapi.Answer{Cluster: newPlan(edited).order.update}}, true, ""},
		"the cache is behind": {func() observation {
			o := edited
			o.made.editor = ""
			return o
		}, result{err: errors.New("conflict")}, false, "kubectl-edit"},
		"nothing is changed while suspended": {func() observation {
			o := ordered()
			o.cluster.Spec.Suspend = true
			return o
		}, result{}, false, "kubectl-edit"},
	} {
		o := test.look()
		o.made.untold = lost.untold
		test.done.cluster, test.done.link = o.cluster, o.link
		said := newReport(o, newPlan(o), test.done)
		told := len(said.happened) == 1 && strings.Contains(said.happened[0].note, "kubectl-edit changed the topology of Cluster prod")
		if told != test.told || said.untold != test.remains {
			t.Errorf("%s: told are %v, to be told is %q", name, said.happened, said.untold)
		}
	}
}

func TestWhatIsFilledInLaterIsOnRecord(t *testing.T) {
	o := ordered()
	o.made.live.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "new"}}
	if said := reported(o); said.status.TopologyHash != topology.Fingerprint(o.made.live) || len(said.happened) != 0 {
		t.Errorf("on record is %q, told are %v", said.status.TopologyHash, said.happened)
	}
}

func readyMessage(status tenancyv1alpha1.TenantClusterStatus) string {
	for _, condition := range status.Conditions {
		if condition.Type == metav1alpha1.ConditionReady {
			return condition.Message
		}
	}
	return ""
}

func TestARefusedUpgradeIsNotOnRecord(t *testing.T) {
	o := ordered()
	upgrading(&o)
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, order: clusterapi.Answer{Refused: "no such version"}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" || said.again != retryRefused {
		t.Errorf("upgrade %v, ordered %s, again after %s", said.status.Upgrade, said.status.OrderedVersion, said.again)
	}
	if got := conditionTexts(said.status, metav1alpha1.ConditionStalled, tenancyv1alpha1.ConditionUpgraded); got != "Stalled=True/OrderRefused Upgraded=False/OrderRefused" {
		t.Error(got)
	}
}

func TestSomebodyElsesClusterIsNotConnected(t *testing.T) {
	o := ordered()
	o.made.live.Labels[metav1alpha1.LabelManagedBy] = "another"
	for _, deleting := range []bool{false, true} {
		if deleting {
			deleted(&o)
		}
		missing := missingCluster(o.cluster, o.made, o.orders)
		if missing == nil || missing.reason != tenancyv1alpha1.ReasonNameConflict {
			t.Errorf("deleting: %v: it may be used: %v", deleting, missing)
		}
	}
	o = ordered()
	o.credentials, o.link = credentials{problem: &problem{reason: tenancyv1alpha1.ReasonNameConflict}}, nil
	if d := newPlan(o); d.connection != disconnect || d.holdSecret != nil || d.admission == admit {
		t.Errorf("planned %+v", d)
	}
}

func TestWhatFailedIsNotOnRecord(t *testing.T) {
	o := ordered()
	upgrading(&o)
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, err: errors.New("webhook does not answer")})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestAnUpgradeThatIsDoneLeavesTheRecordThoughAnotherChangeIsRefused(t *testing.T) {
	o := ordered()
	o.cluster.Spec.Topology.Version, o.made.live.Spec.Topology.Version = "v1.36.3", "v1.36.3"
	o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
	o.cluster.Spec.Topology.ClassRef.Name = "none"
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, order: clusterapi.Answer{Refused: "no such class"}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.36.3" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestARefusedUpgradeLeavesTheRecord(t *testing.T) {
	o := ordered()
	upgrading(&o)
	o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, order: clusterapi.Answer{Refused: "no such version"}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestTheOpenWindowKeepsItsStart(t *testing.T) {
	o := ordered()
	o.maintenance = maintenancewindow.State{Open: true, Span: maintenancewindow.Span(now, now.Add(time.Hour))}
	first := reported(o)
	o.cluster.Status = first.status
	o.now = now.Add(time.Minute)
	o.maintenance.Span = maintenancewindow.Span(o.now, now.Add(time.Hour))
	if again := reported(o); again.changed {
		t.Errorf("the status changes with the time:\n%+v\n%+v", first.status, again.status)
	}
}

func TestAClusterThatDaytwoDidNotMakeIsNotUpgraded(t *testing.T) {
	o := settled()
	o.cluster.Spec.ClusterRef, o.cluster.Spec.KubeconfigRef = &metav1alpha1.LocalReference{Name: "theirs"}, nil
	o.cluster.Spec.Upgrade.IgnoreUnready = true
	o.made = clusterAPICluster{live: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}}
	o.says("InfrastructureReady", metav1.ConditionTrue, "")
	got := conditionTexts(reported(o).status, tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionUpgraded)
	if got != "Provisioned=True/Available Upgraded=Unknown/NotOwned" {
		t.Error(got)
	}
}
