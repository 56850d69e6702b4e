package tenantcluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
)

// reported plans, pretends that all went well, and reports.
func reported(o observation) report {
	return newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link})
}

// conditions lists them as "Ready=True/Succeeded".
func conditionTexts(status tenancyv1alpha1.TenantClusterStatus, kinds ...string) string {
	var list []string
	for _, kind := range kinds {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			list = append(list, kind+"="+string(c.Status)+"/"+c.Reason)
		}
	}
	return strings.Join(list, " ")
}

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*observation)
		want    string
		message string
	}{
		"connected": {func(*observation) {}, "Ready=True/Succeeded KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=False/Confirmed",
			"Connected to https://blue.example (v1.36.3)"},
		"refused": {func(o *observation) { o.credentials.problem, o.link = &problem{"Refused", "field exec"}, nil },
			"Ready=False/Refused Stalled=True/Refused KubeconfigValid=False/Refused Connected=False/NoAccess", "field exec"},
		"first answer awaited": {func(o *observation) { o.link = &fleet.State{Phase: fleet.Connecting} },
			"Ready=Unknown/Progressing Reconciling=True/Progressing KubeconfigValid=True/Accepted Connected=Unknown/Connecting", "awaited"},
		"unreachable": {func(o *observation) {
			o.link.Phase, o.link.Message = fleet.Unreachable, "https://blue.example: no answer in time"
		},
			"Ready=Unknown/ClusterUnreachable Reconciling=True/ClusterUnreachable KubeconfigValid=True/Accepted Connected=False/Unreachable", "no answer in time"},
		"unauthorized": {func(o *observation) { o.link.Phase, o.link.Message = fleet.Unauthorized, "401" },
			"Ready=False/Unauthorized Stalled=True/Unauthorized KubeconfigValid=True/Accepted Connected=False/Unauthorized", "401"},
		"changed": {func(o *observation) { o.link.Identity = "green" },
			"Ready=False/Changed Stalled=True/Changed KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=True/Changed", "daytwo.dev/accept-cluster-id: green"},
		"first contact": {func(o *observation) { o.cluster.Status.ClusterID = "" },
			"Ready=Unknown/Progressing Reconciling=True/Progressing KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=False/Confirmed", "being recorded"},
		"suspended": {func(o *observation) { o.cluster.Spec.Suspend = true },
			"Ready=True/Suspended KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=False/Confirmed", "suspended: drift is reported"},
		"annotation cannot be read": {func(o *observation) {
			o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: "monday"}
		},
			"Ready=True/Succeeded KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=False/Confirmed", "monday"},
		"waits for targets": {func(o *observation) {
			deleted(o)
			stillThere(o, "a", "b")
		}, "Ready=False/Deleting Reconciling=True/Deleting KubeconfigValid=True/Accepted Connected=True/Connected IdentityConflict=False/Confirmed", "RemovingTargets: waits until AddonRelease acme/a, acme/b is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := settled()
			c.change(&seen)
			status := reported(seen).status
			got := conditionTexts(status, metav1alpha1.ConditionReady, metav1alpha1.ConditionReconciling, metav1alpha1.ConditionStalled,
				tenancyv1alpha1.ConditionKubeconfigValid, tenancyv1alpha1.ConditionConnected, tenancyv1alpha1.ConditionIdentityConflict)
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if message := meta.FindStatusCondition(status.Conditions, metav1alpha1.ConditionReady).Message; !strings.Contains(message, c.message) {
				t.Errorf("got the message %q, want %q in it", message, c.message)
			}
		})
	}
}

func TestObjectsThatNoAddOnHasOnRecordAreReported(t *testing.T) {
	for count, words := range map[int]string{
		0: "", 1: "1 object carries", 7: "7 objects carry", tracker.MaxUnrecorded: "At least 1000 objects carry",
	} {
		o := settled()
		o.link.Unrecorded = tracker.Unrecorded{Count: count, Examples: "ConfigMap/default/left"}
		got := reported(o)
		condition := meta.FindStatusCondition(got.status.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects)
		if (condition != nil) != (count > 0) {
			t.Fatalf("of %d objects it says %+v", count, condition)
		}
		if condition == nil {
			continue
		}
		if !strings.Contains(condition.Message, words) || !strings.Contains(condition.Message, "ConfigMap/default/left") {
			t.Errorf("of %d objects it says %q", count, condition.Message)
		}
		told := func(events []eventRecord) bool {
			return slices.ContainsFunc(events, func(one eventRecord) bool { return one.reason == tenancyv1alpha1.ConditionUnrecordedObjects })
		}
		o.cluster.Status = got.status
		if again := reported(o); !told(got.events) || told(again.events) || again.changed {
			t.Errorf("it is told once: %+v, then %+v", got.events, again.events)
		}
		o.link.Phase = fleet.Unreachable
		if meta.FindStatusCondition(reported(o).status.Conditions, tenancyv1alpha1.ConditionUnrecordedObjects) == nil {
			t.Error("a cluster that does not answer is said to have none")
		}
	}
}

func TestSecondReportChangesNothing(t *testing.T) {
	o := settled()
	first := reported(o)
	o.cluster.Status = first.status
	o.now = now.Add(time.Hour)
	o.link.LastSeen = o.now
	if second := reported(o); second.changed || len(second.events) != 0 {
		t.Errorf("changed=%t, events=%v, status %+v", second.changed, second.events, second.status)
	}
}

func TestRestartedManagerWritesNothingWhileItConnects(t *testing.T) {
	for _, phase := range []fleet.Phase{fleet.Connected, fleet.Unreachable} {
		o := settled()
		o.link.Phase = phase
		o.cluster.Status = reported(o).status
		o.cluster.Status.ObservedGeneration = 1
		o.link = &fleet.State{Phase: fleet.Connecting}
		if said := reported(o); said.changed {
			t.Errorf("%s: wrote %+v", phase, said.status)
		}
	}
}

func TestNewSpecIsNotReportedAsConnectedOnOldNews(t *testing.T) {
	o := settled()
	o.cluster.Status = reported(o).status
	o.cluster.Generation = 2
	o.link = &fleet.State{Phase: fleet.Connecting}
	if got := conditionTexts(reported(o).status, metav1alpha1.ConditionReady); got != "Ready=Unknown/Progressing" {
		t.Errorf("got %s", got)
	}
}

// What a status tells of a moment grows old unless it is written again and again.
func TestLastSeenIsToldOnceTheClusterIsLost(t *testing.T) {
	o := settled()
	if o.cluster.Status = reported(o).status; o.cluster.Status.LastSeen != nil {
		t.Errorf("told while connected: %s", o.cluster.Status.LastSeen)
	}
	o.link = &fleet.State{Phase: fleet.Unreachable, LastSeen: now.Add(time.Hour)}
	if o.cluster.Status = reported(o).status; !o.cluster.Status.LastSeen.Time.Equal(now.Add(time.Hour)) {
		t.Errorf("got %s, want when the cluster answered last", o.cluster.Status.LastSeen)
	}
	o.link.LastSeen = now.Add(2 * time.Hour)
	if at := reported(o).status.LastSeen; !at.Time.Equal(now.Add(time.Hour)) {
		t.Errorf("written again: %s", at)
	}
	o.link.Phase = fleet.Connected
	if at := reported(o).status.LastSeen; at != nil {
		t.Errorf("told after it is connected again: %s", at)
	}
}

func TestClusterThatIsClaimedByAnotherIsReportedAsRegistered(t *testing.T) {
	o := settled()
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, claimed: true})
	if got := conditionTexts(said.status, metav1alpha1.ConditionReady, tenancyv1alpha1.ConditionIdentityConflict); got != "Ready=False/AlreadyRegistered IdentityConflict=True/AlreadyRegistered" {
		t.Errorf("got %s", got)
	}
	if said.again == 0 {
		t.Error("nobody looks whether the claim has ended")
	}
}

func TestFailedWriteIsTold(t *testing.T) {
	o := settled()
	said := newReport(o, newPlan(o), result{cluster: o.cluster, link: o.link, err: errors.New("add finalizer to Secret access: forbidden")})
	reconciling := meta.FindStatusCondition(said.status.Conditions, metav1alpha1.ConditionReconciling)
	if reconciling == nil || !strings.Contains(reconciling.Message, "Secret access: forbidden") {
		t.Errorf("got %+v", reconciling)
	}
}

// token returns a JWT that expires at a time.
func token(expires string) string { return "e30.eyJleHAiOiA" + expires + ".x" }

func TestExpiryIsAnnouncedAndWokenUpFor(t *testing.T) {
	// The payload of the token is {"exp": 1795230000}.
	expires := time.Unix(1795230000, 0)
	for name, c := range map[string]struct {
		before time.Duration
		want   string
		again  time.Duration
	}{
		"long before": {20 * 24 * time.Hour, "", 6 * 24 * time.Hour},
		"soon":        {time.Hour, "CredentialsExpiring=True/ExpiresSoon", time.Hour},
		"at the time": {0, "CredentialsExpiring=True/Expired", 0},
		"afterwards":  {-time.Hour, "CredentialsExpiring=True/Expired", 0},
	} {
		o := settled()
		o.credentials.access.Token = token("xNzk1MjMwMDAwfQ")
		o.now = expires.Add(-c.before)
		said := reported(o)
		if got := conditionTexts(said.status, tenancyv1alpha1.ConditionCredentialsExpiring); got != c.want || said.again != c.again {
			t.Errorf("%s: got %q again after %s, want %q after %s", name, got, said.again, c.want, c.again)
		}
		if at := said.status.KubeconfigExpiresAt; at == nil || !at.Time.Equal(expires) {
			t.Errorf("%s: got %s, want %s", name, at, expires)
		}
	}
}

func TestARefusalNamesTheExpiredTokenAndIsAnEventOnce(t *testing.T) {
	expires := time.Unix(1795230000, 0)
	o := settled()
	o.credentials.access.Token = token("xNzk1MjMwMDAwfQ")
	o.now = expires.Add(time.Minute)
	o.link.Phase, o.link.Message = fleet.Unauthorized, "GET /api/v1/namespaces/kube-system answers 401 Unauthorized"
	said := reported(o)
	connected := meta.FindStatusCondition(said.status.Conditions, tenancyv1alpha1.ConditionConnected)
	if want := "The token in Secret access expired at "; connected.Reason != tenancyv1alpha1.ReasonUnauthorized || !strings.HasPrefix(connected.Message, want) {
		t.Errorf("got %s: %s, want %q", connected.Reason, connected.Message, want)
	}
	count := func(events []eventRecord) (found int) {
		for _, one := range events {
			if one.reason == tenancyv1alpha1.ConditionCredentialsExpiring {
				found++
			}
		}
		return found
	}
	if count(said.events) != 1 {
		t.Errorf("the expiry is no event: %+v", said.events)
	}
	o.cluster.Status = said.status
	if again := reported(o); count(again.events) != 0 {
		t.Errorf("the expiry is told twice: %+v", again.events)
	}
}

func TestEndOfASuspensionIsWokenUpFor(t *testing.T) {
	o := settled()
	o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: now.Add(time.Hour).Format(time.RFC3339)}
	if again := reported(o).again; again != time.Hour {
		t.Errorf("got %s", again)
	}
}

func TestEventsTellOfChangesOnly(t *testing.T) {
	o := settled()
	first := reported(o)
	if len(first.events) != 1 || first.events[0].reason != metav1alpha1.ReasonSucceeded {
		t.Errorf("got %v, want that it is connected", first.events)
	}
	o.cluster.Status = first.status
	o.link.Identity = "green"
	if events := reported(o).events; len(events) != 1 || events[0].kind != "Warning" {
		t.Errorf("got %v, want a warning of the other cluster", events)
	}
	o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationAcceptClusterID: "green"}
	if events := reported(o).events; len(events) == 0 || events[0].reason != "ClusterAccepted" {
		t.Errorf("got %v, want that the cluster was accepted", events)
	}
}

func TestLongMessageIsCut(t *testing.T) {
	o := settled()
	o.link.Phase, o.link.Message = fleet.Unreachable, strings.Repeat("ü", conditions.MaxMessage)
	message := meta.FindStatusCondition(reported(o).status.Conditions, tenancyv1alpha1.ConditionConnected).Message
	if len(message) > conditions.MaxMessage+len("…") {
		t.Errorf("%d bytes", len(message))
	}
}
