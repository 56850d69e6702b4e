package tenantcluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/deletion"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/heldsecret"
)

var now = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

// settled is a TenantCluster that is connected and in which there is nothing to do.
func settled() observation {
	return observation{
		key: types.NamespacedName{Namespace: "acme", Name: "prod"},
		cluster: &tenancyv1alpha1.TenantCluster{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "acme", Name: "prod", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
				Finalizers: []string{metav1alpha1.FinalizerCluster}, Labels: map[string]string{metav1alpha1.LabelClusterID: "blue"},
			},
			Spec:   tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: "access", Key: "value"}},
			Status: tenancyv1alpha1.TenantClusterStatus{ClusterID: "blue"},
		},
		now:           now,
		expiryWarning: DefaultCredentialsExpiryWarning,
		credentials: credentials{
			secret: heldMetadata("access"), access: kubeconfig.Access{Server: "https://blue.example"},
		},
		link:      &fleet.State{Phase: fleet.Connected, Identity: "blue", Version: "v1.36.3", LastSeen: now},
		forbidden: "management",
		held:      []heldsecret.Secret{{Metadata: *heldMetadata("access"), UsedHere: true}},
	}
}

func heldMetadata(name string) *metav1.PartialObjectMetadata {
	secret := secretMetadata()
	secret.Namespace, secret.Name, secret.Finalizers = "acme", name, []string{metav1alpha1.FinalizerAccess}
	return secret
}

func deleted(o *observation) {
	at := metav1.NewTime(now)
	o.cluster.DeletionTimestamp = &at
}

// stillThere are targets that are in the cluster still.
func stillThere(o *observation, names ...string) {
	for _, name := range names {
		o.blockers.targets = append(o.blockers.targets, deletion.Target{Kind: "AddonRelease", PolicyKind: "SaaSAddon", NamespacedName: types.NamespacedName{Namespace: "acme", Name: name}})
	}
}

func rival(created time.Duration) tenancyv1alpha1.TenantCluster {
	return tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "other", Name: "prod", CreationTimestamp: metav1.NewTime(now.Add(created)),
	}}
}

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*observation)
		want   func(plan) bool
	}{
		"nothing to do": {func(*observation) {}, func(d plan) bool {
			return !d.addFinalizer && d.holdSecret == nil && d.releaseSecrets == nil && d.connection == keepConnection &&
				d.admission == admit && d.clusterID == "blue" && !d.release
		}},
		"finalizers are missing": {func(o *observation) {
			o.cluster.Finalizers, o.credentials.secret.Finalizers = nil, nil
		}, func(d plan) bool { return d.addFinalizer && d.holdSecret != nil && d.holdSecret.Name == "access" }},
		"no finalizer on a Secret that is being deleted": {func(o *observation) {
			at := metav1.NewTime(now)
			o.credentials.secret.Finalizers, o.credentials.secret.DeletionTimestamp = nil, &at
		}, func(d plan) bool { return d.holdSecret == nil && d.connection == keepConnection }},
		"kubeconfig is refused": {func(o *observation) {
			o.credentials.problem, o.link = &problem{reason: "Refused"}, nil
		}, func(d plan) bool {
			return d.connection == disconnect && d.admission == keepAdmission && d.clusterID == "blue"
		}},
		"not connected yet": {func(o *observation) { o.link = nil },
			func(d plan) bool {
				return d.connection == connect && d.admission == keepAdmission && d.clusterID == "blue"
			}},
		"first contact is recorded before work is admitted": {func(o *observation) { o.cluster.Status.ClusterID = "" },
			func(d plan) bool {
				return d.clusterID == "blue" && d.admission == withdraw && d.verdict.confirmed()
			}},
		"unreachable keeps the record and the admission": {func(o *observation) { o.link.Phase = fleet.Unreachable },
			func(d plan) bool {
				return d.clusterID == "blue" && d.admission == keepAdmission && d.connection == keepConnection
			}},
		"a try is asked for": {func(o *observation) { o.link.Phase, o.requested = fleet.Unreachable, true },
			func(d plan) bool { return d.connection == tryNow }},
		"a try is asked for before there is a connection": {func(o *observation) { o.link, o.requested = nil, true },
			func(d plan) bool { return d.connection == connect }},
		"another cluster": {func(o *observation) { o.link.Identity = "green" }, func(d plan) bool {
			return d.verdict.reason == tenancyv1alpha1.ReasonIdentityChanged && d.admission == withdraw && d.clusterID == "blue"
		}},
		"another cluster, accepted": {func(o *observation) {
			o.link.Identity = "green"
			o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationAcceptClusterID: "green"}
		}, func(d plan) bool {
			return d.verdict.confirmed() && d.admission == withdraw && d.clusterID == "green"
		}},
		"a third one was accepted": {func(o *observation) {
			o.link.Identity = "green"
			o.cluster.Annotations = map[string]string{metav1alpha1.AnnotationAcceptClusterID: "red"}
		}, func(d plan) bool { return d.verdict.reason == tenancyv1alpha1.ReasonIdentityChanged }},
		"management cluster": {func(o *observation) { o.forbidden, o.cluster.Status.ClusterID = "blue", "" }, func(d plan) bool {
			return d.verdict.reason == tenancyv1alpha1.ReasonManagementCluster && d.admission == withdraw && d.clusterID == ""
		}},
		"newcomer to a registered cluster": {func(o *observation) {
			o.cluster.Status.ClusterID = ""
			o.duplicates = []tenancyv1alpha1.TenantCluster{rival(0)} // younger, and first nevertheless
		}, func(d plan) bool {
			return d.verdict.reason == tenancyv1alpha1.ReasonAlreadyRegistered && d.admission == withdraw && d.clusterID == ""
		}},
		"recorded at the same time, the elder goes on": {func(o *observation) { o.duplicates = []tenancyv1alpha1.TenantCluster{rival(0)} },
			func(d plan) bool { return d.verdict.confirmed() && d.admission == admit && d.clusterID == "blue" }},
		"recorded at the same time, the younger gives it up": {func(o *observation) { o.duplicates = []tenancyv1alpha1.TenantCluster{rival(-2 * time.Hour)} },
			func(d plan) bool {
				return d.verdict.reason == tenancyv1alpha1.ReasonAlreadyRegistered && d.admission == withdraw && d.clusterID == ""
			}},
		"old Secret is released": {func(o *observation) {
			o.held = append(o.held, heldsecret.Secret{Metadata: *heldMetadata("old")})
		}, func(d plan) bool { return len(d.releaseSecrets) == 1 && d.releaseSecrets[0].Name == "old" }},
		"old Secret that another one uses is kept": {func(o *observation) {
			o.held = append(o.held, heldsecret.Secret{Metadata: *heldMetadata("old"), UsedElsewhere: true})
		}, func(d plan) bool { return len(d.releaseSecrets) == 0 }},
		"deleted, targets are left": {func(o *observation) {
			deleted(o)
			stillThere(o, "cache-prod")
		}, func(d plan) bool { return !d.release && len(d.releaseSecrets) == 0 && d.admission == admit }},
		"deleted after a restart, targets are left": {func(o *observation) {
			deleted(o)
			stillThere(o, "cache-prod")
			o.link, o.cluster.Finalizers = nil, nil
		}, func(d plan) bool { return d.connection == connect && !d.addFinalizer }},
		"deleted, no target is left": {deleted,
			func(d plan) bool {
				return d.release && len(d.releaseSecrets) == 1 && d.releaseSecrets[0].Name == "access"
			}},
		"deleted, another one uses the Secret": {func(o *observation) {
			deleted(o)
			o.held[0].UsedElsewhere = true
		}, func(d plan) bool { return d.release && len(d.releaseSecrets) == 0 }},
		"gone": {func(o *observation) { o.cluster, o.held[0].UsedHere = nil, false },
			func(d plan) bool { return d.release && len(d.releaseSecrets) == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			seen := settled()
			c.change(&seen)
			if p := newPlan(seen); !c.want(p) {
				t.Errorf("got %+v", p)
			}
		})
	}
}
