package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

const (
	orderRow = "order_ready"
	// orderRounds are fewer than those of other rows: a round starts two clusters, which are of one size
	// each time.
	orderRounds = 3
)

// orders measures how long it takes from an order to a cluster that is connected and Ready. The floor is the
// same programs, started without Cluster API and without Daytwo. Both are in a fleet of their own, since
// Cluster API should not work beside what the other rows measure.
func (b *bench) orders(ctx context.Context) (results []result, err error) {
	env, err := environment.Start(ctx, environment.Options{
		StateDir: b.stateDir + "-order", ClusterAPI: true, Manager: b.manager, Progress: b.out,
		ManagerArgs: []string{"--leader-election=off"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleetNamespace}}
	if err := env.Admin.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		return nil, err
	}
	var ours, floors []float64
	for round := range orderRounds {
		took, err := orderOne(ctx, env, fmt.Sprintf("ordered-%d", round))
		if err != nil {
			return nil, err
		}
		bare, err := startOne(ctx, env, fmt.Sprintf("started-%d", round))
		if err != nil {
			return nil, err
		}
		b.progressf("round %d: ordered and Ready after %.1f s, started after %.1f s", round, took.Seconds(), bare.Seconds())
		ours, floors = append(ours, took.Seconds()), append(floors, bare.Seconds())
	}
	return []result{newResult(orderRow, "s", median(ours), median(floors))}, nil
}

// orderOne orders a cluster, waits until it is Ready, and gives it back.
func orderOne(ctx context.Context, env *environment.Environment, name string) (time.Duration, error) {
	versions := env.Fleet.KubernetesVersions()
	order := &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: name},
		Spec: tenancyv1alpha1.TenantClusterSpec{Topology: &tenancyv1alpha1.ClusterTopology{
			ClassRef: tenancyv1alpha1.ClusterClassReference{Namespace: localfleet.ClassNamespace, Name: "small"},
			Version:  versions[len(versions)-1],
		}},
	}
	start := time.Now()
	if err := env.Admin.Create(ctx, order); err != nil {
		return 0, fmt.Errorf("order %s: %w", name, err)
	}
	key := client.ObjectKeyFromObject(order)
	if err := awaitOrder(ctx, env, key, func(err error) bool {
		return err == nil && meta.IsStatusConditionTrue(order.Status.Conditions, metav1alpha1.ConditionReady)
	}, order); err != nil {
		return 0, fmt.Errorf("%s is not Ready: %w", name, err)
	}
	took := time.Since(start)
	if err := env.Admin.Delete(ctx, order); err != nil {
		return 0, err
	}
	return took, awaitOrder(ctx, env, key, apierrors.IsNotFound, order)
}

// awaitOrder reads an order until what comes of that is as wanted.
func awaitOrder(ctx context.Context, env *environment.Environment, key client.ObjectKey, wanted func(error) bool, order *tenancyv1alpha1.TenantCluster) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return wanted(env.Admin.Get(ctx, key, order)), nil
	})
}

// startOne starts a cluster of the same programs, and ends it.
func startOne(ctx context.Context, env *environment.Environment, name string) (time.Duration, error) {
	start := time.Now()
	if _, err := env.Fleet.AddCluster(ctx, name, localfleet.ClusterOptions{}); err != nil {
		return 0, fmt.Errorf("start %s: %w", name, err)
	}
	took := time.Since(start)
	return took, env.Fleet.RemoveCluster(ctx, name)
}
