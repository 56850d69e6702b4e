package certificatebundle

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

var (
	prod    = rollout.ClusterKey{Namespace: namespace, Name: "prod"}
	staging = rollout.ClusterKey{Namespace: namespace, Name: "staging"}

	first  = rotation.Told{Trust: []int64{1}, AnchorHash: "one", Issuer: 1}
	both   = rotation.Told{Trust: []int64{1, 2}, AnchorHash: "both", Issuer: 1}
	second = rotation.Told{Trust: []int64{2}, AnchorHash: "two", Issuer: 2}
)

// ownAuthority has a bundle issue from an authority of its own.
func ownAuthority(bundle *certificatesv1alpha1.CertificateBundle) {
	bundle.UID, bundle.Spec.IssuerRef, bundle.Spec.CA = "bundle-1", nil, &certificatesv1alpha1.ManagedAuthority{}
}

// decided tells clusters something, and all others what is told everywhere.
func decided(everywhere rotation.Told, told map[rollout.ClusterKey]rotation.Told) *decision {
	return &decision{
		uid: "bundle-1", everywhere: everywhere, told: told,
		roots: map[int64]authority.Root{1: {Generation: 1, PEM: "one\n", Anchor: "a1"}, 2: {Generation: 2, PEM: "two\n", Anchor: "a2"}},
	}
}

func TestClustersAreAskedAgainThatAreToldSomethingElse(t *testing.T) {
	type told = map[rollout.ClusterKey]rotation.Told
	for name, test := range map[string]struct {
		before, next *decision
		want         []rollout.ClusterKey
	}{
		"nothing was decided before":    {nil, decided(first, nil), nil},
		"between rotations":             {decided(first, nil), decided(first, nil), nil},
		"a rotation begins":             {decided(first, nil), decided(rotation.Told{}, told{prod: both, staging: first}), []rollout.ClusterKey{prod}},
		"one cluster is told the other": {decided(rotation.Told{}, told{prod: both, staging: both}), decided(rotation.Told{}, told{prod: second, staging: both}), []rollout.ClusterKey{prod}},
		"a cluster joins":               {decided(rotation.Told{}, told{prod: both}), decided(rotation.Told{}, told{prod: both, staging: both}), []rollout.ClusterKey{staging}},
		"a cluster leaves":              {decided(rotation.Told{}, told{prod: both, staging: both}), decided(rotation.Told{}, told{prod: both}), []rollout.ClusterKey{staging}},
		"a rotation ends":               {decided(rotation.Told{}, told{prod: second, staging: second}), decided(second, nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var memory decisions
			key := client.ObjectKey{Namespace: namespace, Name: "web"}
			if test.before != nil {
				memory.set(key, test.before)
			}
			if got := memory.set(key, test.next); !slices.Equal(got, test.want) {
				t.Errorf("they are %v, not %v", got, test.want)
			}
			if memory.of(key) != test.next {
				t.Error("it is not remembered")
			}
			if memory.forget(key); memory.of(key) != nil {
				t.Error("it is not forgotten")
			}
		})
	}
}

func TestADeliveryIsToldTheAnchorsOnce(t *testing.T) {
	bundle := newBundle(ownAuthority)
	delivery := &certificatesv1alpha1.CertificateDelivery{}
	delivery.Spec.ClusterRef = metav1alpha1.ClusterReference(prod)
	r := &Reconciler{}
	if r.SyncSettings(delivery, bundle); delivery.Spec.Authority != nil || !r.SettingsCurrent(delivery, bundle) {
		t.Errorf("nothing is decided, and it is told %+v", delivery.Spec.Authority)
	}
	r.decisions.set(client.ObjectKeyFromObject(bundle), decided(rotation.Told{}, map[rollout.ClusterKey]rotation.Told{prod: both}))
	if r.SettingsCurrent(delivery, bundle) {
		t.Error("it is told nothing, and that will do")
	}
	r.SyncSettings(delivery, bundle)
	told := delivery.Spec.Authority
	if told == nil || told.Anchors != "one\ntwo\n" || told.AnchorHash != "both" || !slices.Equal(told.Generations, both.Trust) || told.PolicyUID != "bundle-1" {
		t.Fatalf("it is told %+v", told)
	}
	if !r.SettingsCurrent(delivery, bundle) {
		t.Error("it is told, and that will not do")
	}
	// The authority of what a cluster was told may be lost. Then it keeps that.
	lost := decided(rotation.Told{}, map[rollout.ClusterKey]rotation.Told{prod: both})
	lost.roots = nil
	r.decisions.set(client.ObjectKeyFromObject(bundle), lost)
	if r.SyncSettings(delivery, bundle); delivery.Spec.Authority.Anchors != "one\ntwo\n" || !r.SettingsCurrent(delivery, bundle) {
		t.Errorf("without the authority it is told %+v", delivery.Spec.Authority)
	}
}

func TestAClusterWaitsForTheAuthorityThatItsCertificateIsFrom(t *testing.T) {
	bundle := newBundle(ownAuthority)
	noLeaf := both
	noLeaf.Issuer = 0
	for name, test := range map[string]struct {
		decision *decision
		issuer   string
		gated    bool
	}{
		"nothing is decided":              {nil, "", true},
		"it is not known":                 {decided(rotation.Told{}, nil), "", true},
		"it trusts the authorities first": {decided(rotation.Told{}, map[rollout.ClusterKey]rotation.Told{prod: noLeaf}), "", false},
		"of the first":                    {decided(first, nil), "web-ca-1", false},
		"of the second":                   {decided(rotation.Told{}, map[rollout.ClusterKey]rotation.Told{prod: second}), "web-ca-2", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{}
			if test.decision != nil {
				r.decisions.set(client.ObjectKeyFromObject(bundle), test.decision)
			}
			issuer, urgent, waits := r.issuerIn(bundle, prod)
			if issuer.Name != test.issuer || urgent || (waits == nil) == (test.issuer == "") || waits != nil && (len(waits.Gates) > 0) != test.gated {
				t.Errorf("it is asked of %+v, urgent %t, waits %+v", issuer, urgent, waits)
			}
		})
	}
	if issuer, _, waits := (&Reconciler{}).issuerIn(newBundle(), prod); issuer.Name != "ca" || waits != nil {
		t.Errorf("without an authority it is asked of %+v, %+v", issuer, waits)
	}
}

func TestPeopleAreToldHowFarARotationIs(t *testing.T) {
	record := func(phase rotation.Phase, back bool) rotation.Record {
		return rotation.Record{Phase: phase, RollingBack: back, Current: rotation.Reference{Generation: 3}, Next: rotation.Reference{Generation: 4}}
	}
	for name, test := range map[string]struct {
		plan             rotation.Plan
		rotating, reason string
		message          string
		degraded         string
	}{
		"at rest":       {rotation.Plan{Record: rotation.Record{Phase: rotation.Idle, Current: rotation.Reference{Generation: 3}}}, "False", "Idle", "authority 3 is the only one", "Intact"},
		"at the start":  {rotation.Plan{}, "False", "Idle", "the authority is being made", "Intact"},
		"preparing":     {rotation.Plan{Record: record(rotation.Preparing, false)}, "True", "Preparing", "trust authority 4 beside 3", "Intact"},
		"switching":     {rotation.Plan{Record: record(rotation.Switching, false)}, "True", "Switching", "certificates of authority 3 are replaced by those of 4", "Intact"},
		"going back":    {rotation.Plan{Record: record(rotation.Switching, true)}, "True", "Switching", "certificates of authority 4 are replaced by those of 3", "Intact"},
		"completing":    {rotation.Plan{Record: record(rotation.Completing, false)}, "True", "Completing", "authority 3 is removed", "Intact"},
		"one is waited": {rotation.Plan{Record: record(rotation.Preparing, false), Blocked: []rotation.Blocker{{Reason: "ClusterUnreachable", Message: "waiting for prod"}}}, "True", "Preparing", "; waiting for prod", "Intact"},
		"a hint":        {rotation.Plan{Record: record(rotation.Completing, false), Notices: []rotation.Notice{{Reason: rotation.ReasonRollbackRefused, Message: "no way back"}}}, "True", "Completing", "; no way back", "Intact"},
		"it is lost":    {rotation.Plan{Record: record(rotation.Preparing, false), Notices: []rotation.Notice{{Reason: rotation.ReasonAuthorityLost, Message: "restore it"}}}, "True", "Preparing", "trust authority", "AuthorityLost"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := newBundle(ownAuthority)
			setRotation(bundle, &decision{plan: test.plan}, now)
			told := meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionCARotating)
			if told == nil || string(told.Status) != test.rotating || told.Reason != test.reason || !strings.Contains(told.Message, test.message) {
				t.Errorf("they are told %+v", told)
			}
			degraded := meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionDegraded)
			if degraded == nil || degraded.Reason != test.degraded || (degraded.Status == metav1.ConditionTrue) != (test.degraded != "Intact") {
				t.Errorf("it is degraded: %+v", degraded)
			}
			if len(bundle.Status.Rotation.BlockedBy) != len(test.plan.Blocked) || bundle.Status.Rotation.Phase != test.plan.Record.Phase {
				t.Errorf("the status is %+v", bundle.Status.Rotation)
			}
			setRotation(bundle, nil, now)
			if meta.FindStatusCondition(bundle.Status.Conditions, certificatesv1alpha1.ConditionCARotating) != nil {
				t.Error("it is told of a bundle without an authority")
			}
		})
	}
}
