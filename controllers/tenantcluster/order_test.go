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
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

const ours = "installation"

// ordered is a TenantCluster whose cluster was ordered, made and connected.
func ordered() observed {
	seen := settled()
	seen.installation = ours
	seen.cluster.Spec = tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
		ClassRef: tenancyv1alpha1.ClusterClassReference{Name: "standard"}, Version: "v1.35.4",
	}}
	seen.cluster.Status.OrderedVersion = "v1.35.4"
	seen.maintenance.open = true
	seen.made = clusterAPICluster{live: topology.Desired(seen.cluster, "v1.35.4", ours)}
	seen.cluster.Status.TopologyHash = topology.Fingerprint(seen.made.live)
	seen.made.live.Spec.InfrastructureRef.Kind, seen.made.live.Spec.InfrastructureRef.Name = "LocalCluster", "prod-x1"
	seen.says("InfrastructureReady", metav1.ConditionTrue, "")
	seen.says("ControlPlaneAvailable", metav1.ConditionTrue, "")
	seen.says("WorkersAvailable", metav1.ConditionTrue, "")
	seen.says("TopologyReconciled", metav1.ConditionTrue, "")
	return seen
}

// says is what Cluster API says of the Cluster; the last word on a condition comes first.
func (o *observed) says(condition string, status metav1.ConditionStatus, message string) {
	o.made.live.Status.Conditions = append([]metav1.Condition{{Type: condition, Status: status, Reason: "Said", Message: message}},
		o.made.live.Status.Conditions...)
}

func notMade(o *observed) {
	o.made, o.link = clusterAPICluster{presence: absent}, nil
	o.credentials = credentials{problem: &problem{tenancyv1alpha1.ReasonProvisioning, "The cluster is being ordered from Cluster API."}}
}

// removing: the step is on record since the deletion.
func removing(o *observed) {
	o.cluster.Status.Deletion = &tenancyv1alpha1.Deletion{Step: tenancyv1alpha1.DeletionRemovingCluster, Since: *o.cluster.DeletionTimestamp}
}

func upgrading(o *observed) { o.cluster.Spec.Topology.Version = "v1.36.3" }

func TestPlanOfAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observed)
		want   func(decision) bool
	}{
		"as ordered": {func(*observed) {}, func(d decision) bool {
			return d.order.create == nil && d.order.update == nil && !d.order.delete && d.order.problem == nil && d.order.step.Upgraded
		}},
		"nothing is there": {notMade, func(d decision) bool {
			return d.order.create != nil && topology.IsOurs(d.order.create, ours) && d.order.create.Name == "prod"
		}},
		"Cluster API is missing": {func(o *observed) { notMade(o); o.made.presence = notInstalled },
			func(d decision) bool { return d.order.create == nil }},
		"nothing is ordered while suspended": {func(o *observed) { notMade(o); o.cluster.Spec.Suspend = true },
			func(d decision) bool { return d.order.create == nil && d.order.waits != "" }},
		"a window cannot be read": {func(o *observed) { notMade(o); o.maintenance.invalid = "spec.maintenanceWindows[0].schedule: …" },
			func(d decision) bool { return d.order.create == nil && d.order.problem != nil }},
		"the Cluster is somebody else's": {func(o *observed) { o.made.live.Labels[metav1alpha1.LabelManagedBy] = "another" }, func(d decision) bool {
			return d.order.update == nil && d.order.problem != nil && d.order.problem.reason == tenancyv1alpha1.ReasonNameConflict
		}},
		"somebody deletes the Cluster": {func(o *observed) { at := metav1.NewTime(now); o.made.live.DeletionTimestamp = &at },
			func(d decision) bool { return d.order.create == nil && d.order.update == nil && d.order.waits != "" }},
		"an edit": {func(o *observed) { o.made.live.Spec.Topology.ClassRef.Name = "small" }, func(d decision) bool {
			return d.order.update != nil && d.order.edited && d.order.update.Spec.Topology.ClassRef.Name == "standard"
		}},
		"an edit that an order cannot say": {func(o *observed) {
			o.made.live.Spec.Topology.ControlPlane.Deletion.NodeDrainTimeoutSeconds, o.made.editor = ptr.To[int32](60), "kubectl-edit"
		}, func(d decision) bool { return d.order.update != nil && d.order.edited }},
		"it is not known how the order was taken": {func(o *observed) { o.cluster.Status.TopologyHash = "" },
			func(d decision) bool { return d.order.update == nil && d.order.filledIn != nil }},
		"defaults that came later do not hold an upgrade up": {func(o *observed) {
			upgrading(o)
			o.made.live.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "new"}}
		}, func(d decision) bool {
			return d.order.update == nil && d.order.filledIn != nil && d.order.rehearse != nil
		}},
		"somebody's webhook changes what is ordered": {func(o *observed) {
			upgrading(o)
			o.made.live.Spec.Topology.ControlPlane.Metadata.Labels = map[string]string{"policy": "says"}
			o.cluster.Status.TopologyHash = topology.Fingerprint(o.made.live)
		}, func(d decision) bool { return d.order.update == nil && d.order.rehearse != nil }},
		"another order": {func(o *observed) { o.cluster.Spec.Topology.ClassRef.Name = "large" },
			func(d decision) bool { return d.order.update != nil && !d.order.edited }},
		"an edit stays while suspended": {func(o *observed) {
			o.made.live.Spec.Topology.ClassRef.Name, o.cluster.Spec.Suspend = "small", true
		}, func(d decision) bool { return d.order.update == nil }},
		"an upgrade is rehearsed and put on record, not ordered": {upgrading, func(d decision) bool {
			return d.order.update == nil && d.order.step.Begin != nil && d.order.rehearse != nil && d.order.rehearse.Spec.Topology.Version == "v1.36.3"
		}},
		"an upgrade on record is ordered": {func(o *observed) {
			upgrading(o)
			o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
		}, func(d decision) bool {
			return d.order.rehearse == nil && d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.36.3"
		}},
		"an upgrade begins after other changes of the order": {func(o *observed) {
			upgrading(o)
			o.cluster.Spec.Topology.ClassRef.Name = "large"
		}, func(d decision) bool {
			return d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.35.4" && d.order.step.Begin == nil && d.order.rehearse == nil
		}},
		"deleted, and nobody can tell whether it is gone": {func(o *observed) {
			deleted(o)
			o.made = clusterAPICluster{presence: notInstalled, unsettled: errors.New("no matches for kind")}
		}, func(d decision) bool { return !d.release && !d.order.delete }},
		"no upgrade begins while suspended": {func(o *observed) { upgrading(o); o.cluster.Spec.Suspend = true },
			func(d decision) bool { return d.order.step.Begin == nil && d.order.rehearse == nil }},
		"an edit is taken back while an upgrade waits": {func(o *observed) {
			upgrading(o)
			o.maintenance.open = false
			o.made.live.Spec.Topology.ClassRef.Name = "small"
		}, func(d decision) bool {
			return d.order.update != nil && d.order.update.Spec.Topology.Version == "v1.35.4" && d.order.step.Begin == nil
		}},
		"deleted, with targets": {func(o *observed) { deleted(o); remaining(o, "a") },
			func(d decision) bool { return !d.release && !d.order.delete }},
		"deleted, without targets, which is put on record": {deleted, func(d decision) bool {
			return !d.release && !d.order.delete && d.deletion.Record.Step == tenancyv1alpha1.DeletionRemovingCluster
		}},
		"deleted, without targets": {func(o *observed) { deleted(o); removing(o) }, func(d decision) bool {
			return !d.release && d.order.delete && len(d.releaseSecrets) == 1 && d.connection == disconnect
		}},
		"deleted, and going": {func(o *observed) { deleted(o); o.made.live.DeletionTimestamp = o.cluster.DeletionTimestamp },
			func(d decision) bool { return !d.release && !d.order.delete }},
		"deleted, and gone": {func(o *observed) { deleted(o); o.made = clusterAPICluster{presence: absent} },
			func(d decision) bool { return d.release }},
		"deleted, and somebody else's": {func(o *observed) { deleted(o); o.made.live.Labels[metav1alpha1.LabelManagedBy] = "another" },
			func(d decision) bool { return d.release && !d.order.delete }},
		"deleted, overdue, and not asked to go yet": {func(o *observed) { deleted(o); removing(o); o.now = now.Add(time.Hour) },
			func(d decision) bool { return !d.release && d.order.delete }},
		"deleted, overdue, and still going": {func(o *observed) {
			deleted(o)
			o.now, o.made.live.DeletionTimestamp = now.Add(time.Hour), o.cluster.DeletionTimestamp
			removing(o)
		}, func(d decision) bool { return d.release }},
	} {
		t.Run(name, func(t *testing.T) {
			seen := ordered()
			test.change(&seen)
			if d := plan(seen); !test.want(d) {
				t.Errorf("planned %+v", d)
			}
		})
	}
}

func TestReportOfAnOrder(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*observed)
		phase  tenancyv1alpha1.ClusterPhase
		want   string
		says   string
	}{
		"as ordered": {func(*observed) {}, tenancyv1alpha1.PhaseRunning, "Ready=True/Succeeded Provisioned=True/Available Upgraded=True/Upgraded", "Connected to"},
		"ordered just now": {notMade, tenancyv1alpha1.PhasePending,
			"Ready=False/Provisioning Reconciling=True/Provisioning", "being ordered"},
		"being made": {func(o *observed) {
			o.credentials, o.link = credentials{problem: &problem{tenancyv1alpha1.ReasonProvisioning, "no Secret"}}, nil
			o.says("InfrastructureReady", metav1.ConditionFalse, "no address is free")
		}, tenancyv1alpha1.PhaseProvisioning,
			"Ready=False/Provisioning Reconciling=True/Provisioning Provisioned=False/NotAvailable Upgraded=True/Upgraded", "LocalCluster prod-x1: no address is free"},
		"connected before all of it is there": {func(o *observed) { o.says("InfrastructureReady", metav1.ConditionFalse, "a rule is missing") },
			tenancyv1alpha1.PhaseProvisioning, "Ready=False/NotAvailable Reconciling=True/NotAvailable Provisioned=False/NotAvailable Upgraded=True/Upgraded", "a rule is missing"},
		"a part fails later": {func(o *observed) { o.says("ControlPlaneAvailable", metav1.ConditionFalse, "a member is down") },
			tenancyv1alpha1.PhaseRunning, "Ready=False/NotAvailable Reconciling=True/NotAvailable Provisioned=True/Available Upgraded=True/Upgraded", "a member is down"},
		"an upgrade runs": {func(o *observed) {
			upgrading(o)
			o.made.live.Spec.Topology.Version = "v1.36.3"
			o.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
			o.says("TopologyReconciled", metav1.ConditionFalse, "the control plane rolls")
		}, tenancyv1alpha1.PhaseUpgrading, "Ready=True/Upgrading Reconciling=True/Upgrading Provisioned=True/Available Upgraded=False/Upgrading", "the control plane rolls"},
		"an upgrade waits": {func(o *observed) { upgrading(o); o.unready = []string{"AddonRelease acme/a"} },
			tenancyv1alpha1.PhaseRunning, "Ready=True/Succeeded Provisioned=True/Available Upgraded=False/TargetsNotReady", "Connected to"},
		"the version cannot follow": {func(o *observed) { o.cluster.Spec.Topology.Version = "v1.34.1" },
			tenancyv1alpha1.PhaseFailed, "Ready=False/VersionSkew Stalled=True/VersionSkew Provisioned=True/Available Upgraded=False/VersionSkew", "cannot be downgraded"},
		"unreachable": {func(o *observed) { o.link = &fleet.State{Phase: fleet.Unreachable, Message: "no answer"} },
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
	seen := ordered()
	seen.made.live.Spec.Topology.ClassRef.Name, seen.made.editor = "small", "kubectl-edit"
	todo := plan(seen)
	for name, test := range map[string]struct {
		done outcome
		told bool
	}{
		"taken back":                            {outcome{order: orderOutcome{cluster: todo.order.update}}, true},
		"taken back, and something else failed": {outcome{order: orderOutcome{cluster: todo.order.update}, err: errors.New("no")}, true},
		"refused":                               {outcome{order: orderOutcome{refused: &problem{}}}, false},
		"it comes to the same":                  {outcome{order: orderOutcome{cluster: seen.made.live}}, false},
	} {
		test.done.cluster, test.done.link = seen.cluster, seen.link
		said := report(seen, todo, test.done)
		told := len(said.happened) == 1 && strings.Contains(said.happened[0].note, "kubectl-edit changed the topology of Cluster prod")
		if told != test.told {
			t.Errorf("%s: told are %v", name, said.happened)
		}
		if taken := test.done.order.cluster; taken != nil && said.status.TopologyHash != topology.Fingerprint(taken) {
			t.Errorf("%s: on record is %q", name, said.status.TopologyHash)
		}
	}
}

func TestWhatIsFilledInLaterIsOnRecord(t *testing.T) {
	seen := ordered()
	seen.made.live.Spec.Topology.Variables = []clusterv1.ClusterVariable{{Name: "new"}}
	if said := reported(seen); said.status.TopologyHash != topology.Fingerprint(seen.made.live) || len(said.happened) != 0 {
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
	seen := ordered()
	upgrading(&seen)
	said := report(seen, plan(seen), outcome{cluster: seen.cluster, link: seen.link, order: orderOutcome{refused: &problem{tenancyv1alpha1.ReasonOrderRefused, "no such version"}}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" || said.again != retryRefused {
		t.Errorf("upgrade %v, ordered %s, again after %s", said.status.Upgrade, said.status.OrderedVersion, said.again)
	}
	if got := conditionTexts(said.status, metav1alpha1.ConditionStalled, tenancyv1alpha1.ConditionUpgraded); got != "Stalled=True/OrderRefused Upgraded=False/OrderRefused" {
		t.Error(got)
	}
}

func TestSomebodyElsesClusterIsNotConnected(t *testing.T) {
	seen := ordered()
	seen.made.live.Labels[metav1alpha1.LabelManagedBy] = "another"
	for _, deleting := range []bool{false, true} {
		if deleting {
			deleted(&seen)
		}
		missing := missingCluster(seen.cluster, seen.made, ours)
		if missing == nil || missing.reason != tenancyv1alpha1.ReasonNameConflict {
			t.Errorf("deleting: %v: it may be used: %v", deleting, missing)
		}
	}
	seen = ordered()
	seen.credentials, seen.link = credentials{problem: &problem{reason: tenancyv1alpha1.ReasonNameConflict}}, nil
	if d := plan(seen); d.connection != disconnect || d.holdSecret != nil || d.admission == admit {
		t.Errorf("planned %+v", d)
	}
}

func TestWhatFailedIsNotOnRecord(t *testing.T) {
	seen := ordered()
	upgrading(&seen)
	said := report(seen, plan(seen), outcome{cluster: seen.cluster, link: seen.link, err: errors.New("webhook does not answer")})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestAnUpgradeThatIsDoneLeavesTheRecordThoughAnotherChangeIsRefused(t *testing.T) {
	seen := ordered()
	seen.cluster.Spec.Topology.Version, seen.made.live.Spec.Topology.Version = "v1.36.3", "v1.36.3"
	seen.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
	seen.cluster.Spec.Topology.ClassRef.Name = "none"
	said := report(seen, plan(seen), outcome{cluster: seen.cluster, link: seen.link, order: orderOutcome{refused: &problem{tenancyv1alpha1.ReasonOrderRefused, "no such class"}}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.36.3" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestARefusedUpgradeLeavesTheRecord(t *testing.T) {
	seen := ordered()
	upgrading(&seen)
	seen.cluster.Status.Upgrade = &tenancyv1alpha1.Upgrade{From: "v1.35.4", To: "v1.36.3"}
	said := report(seen, plan(seen), outcome{cluster: seen.cluster, link: seen.link, order: orderOutcome{refused: &problem{tenancyv1alpha1.ReasonOrderRefused, "no such version"}}})
	if said.status.Upgrade != nil || said.status.OrderedVersion != "v1.35.4" {
		t.Errorf("upgrade %v, ordered %s", said.status.Upgrade, said.status.OrderedVersion)
	}
}

func TestTheOpenWindowKeepsItsStart(t *testing.T) {
	seen := ordered()
	seen.maintenance = maintenanceState{open: true, span: spanOf(now, now.Add(time.Hour))}
	first := reported(seen)
	seen.cluster.Status = first.status
	seen.now = now.Add(time.Minute)
	seen.maintenance.span = spanOf(seen.now, now.Add(time.Hour))
	if again := reported(seen); again.changed {
		t.Errorf("the status changes with the time:\n%+v\n%+v", first.status, again.status)
	}
}

func TestAClusterThatDaytwoDidNotMakeIsNotUpgraded(t *testing.T) {
	seen := settled()
	seen.cluster.Spec.ClusterRef, seen.cluster.Spec.KubeconfigRef = &metav1alpha1.LocalReference{Name: "theirs"}, nil
	seen.cluster.Spec.Upgrade.IgnoreUnready = true
	seen.made = clusterAPICluster{live: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}}
	seen.says("InfrastructureReady", metav1.ConditionTrue, "")
	got := conditionTexts(reported(seen).status, tenancyv1alpha1.ConditionProvisioned, tenancyv1alpha1.ConditionUpgraded)
	if got != "Provisioned=True/Available Upgraded=Unknown/NotOwned" {
		t.Error(got)
	}
}
