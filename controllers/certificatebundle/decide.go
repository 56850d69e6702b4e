package certificatebundle

import (
	"context"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/authority"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/issuing"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

// defaultSwitching is how many certificates are issued from another authority at a time where spec.rollout says nothing.
const defaultSwitching = 10

// decide makes a decision of a plan. Certificates are issued from another authority a few at a time.
func (r *Reconciler) decide(
	ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, plan rotation.Plan, input rotation.Input, roots map[int64]authority.Root,
) (*decision, error) {
	next := &decision{plan: plan, uid: bundle.UID, roots: roots, told: map[rollout.ClusterKey]rotation.Told{}}
	next.everywhere, _ = rotation.Resting(plan.Record)
	if plan.Held {
		next.everywhere = rotation.Told{}
	}
	free := defaultSwitching
	if bundle.Spec.Rollout.MaxConcurrent > 0 {
		free = int(bundle.Spec.Rollout.MaxConcurrent)
	}
	had := issuersOf(input.Clusters)
	for _, want := range plan.Wants {
		told := want.Told
		if before := had[want.Cluster]; before != 0 && told.Issuer != before && !plan.Urgent {
			issued, err := r.isIssued(ctx, bundle, want)
			if err != nil {
				return nil, err
			}
			if !issued && free == 0 {
				told.Issuer = before
			} else if !issued {
				free--
			}
		}
		next.told[want.Cluster] = told
	}
	return next, nil
}

// issuersOf are the authorities that the leaves of clusters are from.
func issuersOf(clusters []rotation.Cluster) map[rollout.ClusterKey]int64 {
	issuers := map[rollout.ClusterKey]int64{}
	for i := range clusters {
		if target := clusters[i].Target; target != nil {
			issuers[clusters[i].ClusterKey] = target.Told.Issuer
		}
	}
	return issuers
}

// isIssued is whether a cluster could have a certificate of the authority that it is to have one of.
func (r *Reconciler) isIssued(ctx context.Context, bundle *certificatesv1alpha1.CertificateBundle, want rotation.Want) (bool, error) {
	list, err := issuing.List(ctx, r.Client, issuing.KeyOf(bundle, want.Cluster))
	for i := range list {
		if certificatecontent.GenerationOf(list[i].Name) == want.Told.Issuer {
			return true, err
		}
	}
	return false, err
}

// issuers are the authorities that certificates are issued from; none while it is not known what to tell clusters.
func (d *decision) issuers() issuing.Issuers {
	if d.plan.Held {
		return issuing.Issuers{}
	}
	issuers := issuing.Issuers{Everywhere: d.issuer(d.everywhere.Issuer), In: map[rollout.ClusterKey]issuing.Issuer{}}
	for cluster, told := range d.told {
		issuers.In[cluster] = d.issuer(told.Issuer)
	}
	return issuers
}

func (d *decision) issuer(generation int64) issuing.Issuer {
	return issuing.Issuer{Generation: generation, Anchor: d.roots[generation].Anchor}
}
