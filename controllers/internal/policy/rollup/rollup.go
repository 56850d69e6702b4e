// Package rollup makes one condition of a policy of the conditions of its targets. It is pure.
package rollup

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxNamed is how many clusters a condition names.
const maxNamed = 5

// Part is a condition of one target.
type Part struct {
	// Cluster for people, as in "acme/prod".
	Cluster string
	Status  metav1.ConditionStatus
	// Reason; empty where the target does not have the condition.
	Reason string
}

// IsTold is whether the target has the condition.
func (p Part) IsTold() bool { return p.Reason != "" }

// PartOf is a condition of a target, which is Unknown if there is none.
func PartOf(cluster string, condition *metav1.Condition) Part {
	if condition == nil {
		return Part{Cluster: cluster, Status: metav1.ConditionUnknown}
	}
	return Part{Cluster: cluster, Status: condition.Status, Reason: condition.Reason}
}

// Conditions that are good when they are True are True if they are in all clusters, and those that are good when they are False
// are False if they are in all.
const (
	GoodIfTrue  = metav1.ConditionTrue
	GoodIfFalse = metav1.ConditionFalse
)

// Condition is that of all targets, of which there is at least one: Unknown if it is Unknown in one cluster, and what is not
// good if it is so in one. The reason is that of the first cluster for which it is so.
func Condition(parts []Part, good metav1.ConditionStatus) (status metav1.ConditionStatus, reason, message string) {
	byStatus := map[metav1.ConditionStatus][]Part{}
	for _, one := range parts {
		byStatus[one.Status] = append(byStatus[one.Status], one)
	}
	bad := GoodIfFalse
	if good == GoodIfFalse {
		bad = GoodIfTrue
	}
	status = good
	for _, worse := range []metav1.ConditionStatus{metav1.ConditionUnknown, bad} {
		if len(byStatus[worse]) > 0 {
			status = worse
		}
	}
	of := byStatus[status]
	if reason = of[0].Reason; reason == "" {
		reason = metav1alpha1.ReasonProgressing
	}
	if status == good {
		return status, reason, fmt.Sprintf("in all %d clusters", len(parts))
	}
	var names []string
	for _, one := range of[:min(len(of), maxNamed)] {
		names = append(names, one.Cluster)
	}
	return status, reason, fmt.Sprintf("%s in %d of %d clusters: %s", status, len(of), len(parts), truncate.First(names, ", ", len(of)))
}
