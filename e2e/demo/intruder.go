package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// refuseIntruder shows that a kubeconfig is not enough to take a cluster over.
func (s *story) refuseIntruder(ctx context.Context) error {
	victim, intruder := s.customers[0], customer{"mallory"}
	key := client.ObjectKey{Namespace: intruder.namespace(), Name: tenantCluster}
	cluster := &tenancyv1alpha1.TenantCluster{}
	err := s.screen.Do(intruder.name+" registers a cluster with a kubeconfig of "+victim.name, func() (done, error) {
		if err := s.env.RegisterAs(ctx, key, victim.name, nil); err != nil {
			return done{}, err
		}
		err := await(ctx, func(ctx context.Context) (sight, error) {
			err := s.env.Admin.Get(ctx, key, cluster)
			conflict := meta.FindStatusCondition(cluster.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict)
			return sight{
				happened: conflict != nil && conflict.Status == metav1.ConditionTrue && conflict.Reason == tenancyv1alpha1.ReasonAlreadyRegistered,
				seen:     describe(cluster.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict),
			}, err
		})
		return done{text: intruder.name + " registers a cluster with a kubeconfig of " + victim.name + ", and is refused"}, err
	})
	if err != nil {
		return err
	}
	s.screen.Note("status: " + describe(cluster.Status.Conditions, tenancyv1alpha1.ConditionIdentityConflict))
	s.screen.Command(kubectl() + " describe tenantcluster " + tenantCluster + " -n " + intruder.namespace())
	return s.deleteAndWait(ctx, cluster)
}
