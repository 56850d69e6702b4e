package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/topology"
)

// Answer is what Cluster API says to an order. What it refuses is for a person to mend, and no error.
type Answer struct {
	// Cluster as it was taken; nil if it was not.
	Cluster *clusterv1.Cluster
	// Refused is why it is not taken.
	Refused string
	// Lost says that there was no answer: it was taken or not.
	Lost bool
}

// Create a Cluster. Its errors may pass, among them a conflict while the cache does not show what is there.
func (c *Clusters) Create(ctx context.Context, wanted *clusterv1.Cluster) (Answer, error) {
	cluster := wanted.DeepCopy()
	return answer(cluster, c.client.Create(ctx, cluster, c.asOurs()), "create")
}

// Change a Cluster, unless somebody else wrote it since it was looked at.
func (c *Clusters) Change(ctx context.Context, looked, wanted *clusterv1.Cluster) (Answer, error) {
	cluster := wanted.DeepCopy()
	return answer(cluster, c.client.Patch(ctx, cluster, unchanged(looked), c.asOurs()), "change")
}

// Rehearse a change: only a refusal tells anything.
func (c *Clusters) Rehearse(ctx context.Context, looked, wanted *clusterv1.Cluster) (Answer, error) {
	err := c.client.Patch(ctx, wanted.DeepCopy(), unchanged(looked), client.DryRunAll, c.asOurs())
	if topology.LacksDryRun(err) {
		return Answer{}, nil
	}
	refused, err := refusal(err, "rehearse a change of", wanted.Name)
	return Answer{Refused: refused}, err
}

// Delete the Cluster that was looked at, and no other of its name.
func (c *Clusters) Delete(ctx context.Context, looked *clusterv1.Cluster) error {
	err := c.client.Delete(ctx, looked.DeepCopy(), client.Preconditions{UID: &looked.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete Cluster %s: %w", looked.Name, err)
	}
	return nil
}

// asOurs names the field manager of what is ordered, so that an edit shows who made it.
func (c *Clusters) asOurs() client.FieldOwner {
	return client.FieldOwner(managedfields.ManagerOf(c.installation))
}

func unchanged(looked *clusterv1.Cluster) client.Patch {
	return client.MergeFromWithOptions(looked, client.MergeFromWithOptimisticLock{})
}

func answer(cluster *clusterv1.Cluster, err error, verb string) (Answer, error) {
	if err == nil {
		return Answer{Cluster: cluster}, nil
	}
	refused, err := refusal(err, verb, cluster.Name)
	return Answer{Refused: refused, Lost: err != nil && isLost(err)}, err
}

// isLost says whether an error leaves open what became of a write: no answer came, or the API server does not know.
func isLost(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError
}

// refusal tells what Cluster API's admission says no to from what the next try may mend, as when it could not find
// the class.
func refusal(err error, verb, name string) (string, error) {
	switch message, refused := topology.Refusal(err, name); {
	case err == nil:
		return "", nil
	case lacksNamespace(err):
		return "", behind(name)
	case refused && !topology.IsUndecided(err):
		return message, nil
	case apierrors.IsAlreadyExists(err):
		return "", behind(name) // Somebody, maybe an earlier try, made it.
	}
	return "", fmt.Errorf("%s Cluster %s: %w", verb, name, err)
}
