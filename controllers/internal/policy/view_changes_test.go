package policy

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/revision"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// edit gives a policy other selectors and settings.
func (env *following) edit(key types.NamespacedName) {
	addon := env.policy(key)
	addon.Generation++
	label := pick(env, "tier", "provider.daytwo.dev/tier")
	addon.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{label: "gold"}}
	addon.Spec.ClusterNames, addon.Spec.ClusterNamespaceSelector = nil, nil
	if env.chance(40) {
		addon.Spec.ClusterNames = []string{"c0", "c9"}
	}
	if env.chance(40) {
		addon.Spec.ClusterNamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"provider.daytwo.dev/tier": "gold"}}
	}
	addon.Spec.Rollout.Disruptive, addon.Spec.Adopt = env.chance(50), env.chance(50)
	env.put("SaaSAddon", addon)
	env.pending["SaaSAddon"] = nil
	env.woken.policies.Insert(key)
}

func (env *following) policy(key types.NamespacedName) *addonsv1alpha1.SaaSAddon {
	addon := &addonsv1alpha1.SaaSAddon{}
	if err := env.room.Client.Get(env.Context(), key, addon); err != nil {
		env.Fatal(err)
	}
	return addon
}

func (env *following) changeARevision() {
	policy := pick(env, followedPolicies...)
	secret := metadataOf("Secret")
	secret.Namespace, secret.Name = policy.Namespace, fmt.Sprintf("%s-%010d", policy.Name, env.source.IntN(3))
	secret.Labels = map[string]string{
		revision.LabelPolicyKind: "SaaSAddon", metav1alpha1.LabelPolicy: policy.Name, metav1alpha1.LabelRevision: secret.Name[len(policy.Name)+1:],
	}
	if env.chance(40) {
		env.remove("Secret", secret)
		return
	}
	env.put("Secret", secret)
}

func (env *following) randomCluster() rollout.ClusterKey {
	return rollout.ClusterKey{Namespace: pick(env, "acme", "beta", "gamma", providerNamespace), Name: fmt.Sprintf("c%d", env.source.IntN(4))}
}

func (env *following) changeACluster() {
	key := env.randomCluster()
	changed := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if env.chance(15) {
		env.remove("TenantCluster", changed)
		return
	}
	changed.Labels = map[string]string{
		"tier": pick(env, "gold", "iron"), "provider.daytwo.dev/tier": pick(env, "gold", "iron"), "region": pick(env, "east", "west"),
	}
	if env.chance(20) {
		changed.Annotations = map[string]string{metav1alpha1.AnnotationSuspendUntil: env.now.Add(time.Duration(env.source.IntN(60)) * time.Minute).Format(time.RFC3339)}
	}
	if env.chance(20) {
		changed.DeletionTimestamp = &metav1.Time{Time: env.now}
	}
	if env.chance(30) {
		start := env.now.Add(time.Duration(env.source.IntN(90)-30) * time.Minute)
		changed.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{{Schedule: "0 13 * * *"}}
		changed.Status.MaintenanceWindow = &tenancyv1alpha1.Span{Start: metav1.NewTime(start), End: metav1.NewTime(start.Add(30 * time.Minute))}
	}
	changed.Status.Version = pick(env, "v1.36.3", "v1.36.4", "v1.37.0")
	changed.Status.Conditions = []metav1.Condition{{Type: tenancyv1alpha1.ConditionConnected, Status: pick(env, metav1.ConditionTrue, metav1.ConditionFalse)}}
	env.put("TenantCluster", changed)
}

func (env *following) changeATarget() {
	policy := env.policy(pick(env, followedPolicies...))
	target := newTarget(testKind{}, policy, env.randomCluster())
	if env.chance(20) {
		env.remove("AddonRelease", target)
		return
	}
	if env.chance(5) {
		target.Labels[metav1alpha1.LabelPolicy] = "another"
	}
	target.Generation = int64(env.version)
	target.Spec.Revision, target.Status.Revision = pick(env, "one", "two"), pick(env, "one", "two")
	target.Spec.Content = pick(env, "", "key-east", "key-west")
	target.Spec.Adopt = policy.Spec.Adopt
	settingsOf(policy, env.now).setOn(&target.Spec.TargetSpec)
	target.Status.Conditions = []metav1.Condition{{
		Type: metav1alpha1.ConditionReady, Status: pick(env, metav1.ConditionTrue, metav1.ConditionFalse), ObservedGeneration: target.Generation,
		Reason: metav1alpha1.ReasonFailed, Message: pick(env, "this", "that"),
	}}
	env.put("AddonRelease", target)
}
