package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// provider plays Cluster API: it says of Clusters what the core manager says of them, and every cluster that is
// ordered is the same API server. It takes its time with an upgrade, until the add-on in the cluster has been
// seen to pause, and complains where Daytwo does not do one thing before the other.
type provider struct {
	management, workload client.Client
	kubeconfig           []byte
	// edited are the Clusters in which somebody edited the add-on during the upgrade.
	edited map[string]bool

	mu         sync.Mutex
	complaints map[string][]string
}

// startProvider plays until the test is over.
func startProvider(t *testing.T, w *crashEnv) *provider {
	t.Helper()
	p := &provider{
		management: w.management, workload: w.workload, kubeconfig: w.workloadProxy.kubeconfig(t),
		edited: map[string]bool{}, complaints: map[string][]string{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for ; ctx.Err() == nil; pause(ctx) {
			clusters := &clusterv1.ClusterList{}
			if p.management.List(ctx, clusters) != nil {
				continue
			}
			for i := range clusters.Items {
				// Changed meanwhile: the next round sees to it.
				_ = p.play(ctx, &clusters.Items[i])
			}
		}
	}()
	return p
}

func (p *provider) play(ctx context.Context, cluster *clusterv1.Cluster) error {
	ordered := cluster.Spec.Topology.Version
	switch plane := cluster.Status.ControlPlane; {
	case !cluster.DeletionTimestamp.IsZero():
		return p.remove(ctx, cluster)
	case controllerutil.AddFinalizer(cluster, clusterv1.ClusterFinalizer):
		return p.management.Update(ctx, cluster)
	case plane == nil:
		return p.provide(ctx, cluster)
	case plane.Versions[0].Version != ordered:
		return p.upgrade(ctx, cluster)
	}
	return nil
}

// provide first says that it has begun, and then that all is there.
func (p *provider) provide(ctx context.Context, cluster *clusterv1.Cluster) error {
	if len(cluster.Status.Conditions) == 0 {
		return p.say(ctx, cluster, metav1.ConditionFalse)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": p.kubeconfig},
	}
	// Where no namespace controller runs, a namespace that is deleted would stay, and refuse every further order.
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "kept"}}
	if err := p.management.Create(ctx, kept); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := p.management.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return p.sayDone(ctx, cluster)
}

func (p *provider) sayDone(ctx context.Context, cluster *clusterv1.Cluster) error {
	cluster.Status.ControlPlane = &clusterv1.ClusterControlPlaneStatus{
		Versions: []clusterv1.StatusVersion{{Version: cluster.Spec.Topology.Version, Replicas: 1}},
	}
	return p.say(ctx, cluster, metav1.ConditionTrue,
		clusterv1.ClusterInfrastructureReadyCondition, clusterv1.ClusterControlPlaneAvailableCondition)
}

// say sets conditions, and always that of the order.
func (p *provider) say(ctx context.Context, cluster *clusterv1.Cluster, status metav1.ConditionStatus, conditions ...string) error {
	for _, condition := range append(conditions, clusterv1.ClusterTopologyReconciledCondition) {
		meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
			Type: condition, Status: status, Reason: "Said", ObservedGeneration: cluster.Generation,
		})
	}
	meta.SetStatusCondition(&cluster.Status.Conditions, metav1.Condition{
		Type: clusterv1.ClusterWorkersAvailableCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ClusterWorkersAvailableNoWorkersReason,
	})
	return p.management.Status().Update(ctx, cluster)
}

// upgrade waits until the add-on pauses, lets somebody edit it, and waits until that is noticed.
func (p *provider) upgrade(ctx context.Context, cluster *clusterv1.Cluster) error {
	tenant := &tenancyv1alpha1.TenantCluster{}
	if err := p.management.Get(ctx, client.ObjectKey{Namespace: "default", Name: cluster.Name}, tenant); err != nil {
		return err
	}
	from, to := cluster.Status.ControlPlane.Versions[0].Version, cluster.Spec.Topology.Version
	if up := tenant.Status.Upgrade; up == nil || up.From != from || up.To != to {
		p.complain(cluster.Name, fmt.Sprintf("%s is ordered after %s, and on record is %v", to, from, up))
		return p.sayDone(ctx, cluster)
	}
	if meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ClusterTopologyReconciledCondition) {
		return p.say(ctx, cluster, metav1.ConditionFalse)
	}
	target, err := p.target(ctx, cluster.Name)
	if err != nil || !isPaused(target) {
		return err
	}
	settings := &corev1.ConfigMap{}
	if err := p.workload.Get(ctx, settingsOf(cluster.Name), settings); err != nil {
		return err
	}
	if !p.edited[cluster.Name] {
		settings.Data["value"] = "edited"
		err := p.workload.Update(ctx, settings, client.FieldOwner("somebody"))
		p.edited[cluster.Name] = err == nil
		return err
	}
	if !meta.IsStatusConditionTrue(target.Status.Conditions, metav1alpha1.ConditionDrifted) {
		return nil
	}
	if settings.Data["value"] != "edited" {
		p.complain(cluster.Name, "an edit is taken back during the upgrade")
	}
	return p.sayDone(ctx, cluster)
}

func settingsOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "default", Name: name + "-settings"}
}

// target is the only one in a cluster.
func (p *provider) target(ctx context.Context, cluster string) (*addonsv1alpha1.AddonRelease, error) {
	targets := &addonsv1alpha1.AddonReleaseList{}
	if err := p.management.List(ctx, targets, client.MatchingLabels{metav1alpha1.LabelCluster: cluster}); err != nil {
		return nil, err
	}
	if len(targets.Items) != 1 {
		return nil, fmt.Errorf("there are %d targets in %s", len(targets.Items), cluster)
	}
	return &targets.Items[0], nil
}

func isPaused(target *addonsv1alpha1.AddonRelease) bool {
	ready := meta.FindStatusCondition(target.Status.Conditions, metav1alpha1.ConditionReady)
	return ready != nil && strings.Contains(ready.Message, "the cluster is upgraded from")
}

// remove lets a cluster vanish, with everything in it.
func (p *provider) remove(ctx context.Context, cluster *clusterv1.Cluster) error {
	balancer := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: cluster.Name + "-web"}}
	if err := p.workload.Delete(ctx, balancer); !apierrors.IsNotFound(err) {
		p.complain(cluster.Name, "the Cluster is deleted while its load balancer is there")
	}
	settings := settingsOf(cluster.Name)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"}}
	for in, object := range map[client.Client]client.Object{
		p.workload:   &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}},
		p.management: secret,
	} {
		if err := in.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	controllerutil.RemoveFinalizer(cluster, clusterv1.ClusterFinalizer)
	return p.management.Update(ctx, cluster)
}

// complain says something once.
func (p *provider) complain(cluster, about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.complaints[cluster], about) {
		p.complaints[cluster] = append(p.complaints[cluster], about)
	}
}

func (p *provider) complaintsAbout(cluster string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.complaints[cluster])
}
