package certificatebundle

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatebundle/rotation"
	"github.com/daytwo-dev/daytwo/controllers/internal/conditions"
)

// degrading are the reasons of notices of something that is lost, or was overridden.
var degrading = map[string]bool{
	rotation.ReasonAuthorityLost: true, rotation.ReasonAuthorityChanged: true, rotation.ReasonMembersLost: true, rotation.ReasonRecordLost: true,
	rotation.ReasonTooManyClusters: true, rotation.ReasonEmergency: true,
}

// setRotation tells how far the rotation of a bundle's own authority is. It is pure.
func setRotation(bundle *certificatesv1alpha1.CertificateBundle, decided *decision, now time.Time) {
	list := conditions.List{Conditions: &bundle.Status.Conditions, Generation: bundle.Status.ObservedGeneration, Now: now}
	if decided == nil {
		list.Remove(certificatesv1alpha1.ConditionCARotating)
		list.Remove(certificatesv1alpha1.ConditionDegraded)
		return
	}
	record := decided.plan.Record
	bundle.Status.Rotation = &certificatesv1alpha1.RotationStatus{RotationRecord: record, BlockedBy: decided.plan.Blocked}
	rotating, reason := metav1.ConditionTrue, string(record.Phase)
	if record.Phase == rotation.Idle || record.Phase == "" {
		rotating, reason = metav1.ConditionFalse, string(rotation.Idle)
	}
	parts := []string{phaseMessage(record)}
	for _, one := range decided.plan.Blocked {
		parts = append(parts, one.Message)
	}
	degraded, why := overridden(record), []string{}
	if degraded.Reason != "" {
		why = append(why, degraded.Message)
	}
	for _, one := range decided.plan.Notices {
		if !degrading[one.Reason] {
			parts = append(parts, one.Message)
			continue
		}
		if degraded.Reason == "" {
			degraded = one
		}
		why = append(why, one.Message)
	}
	list.Set(certificatesv1alpha1.ConditionCARotating, rotating, reason, strings.Join(parts, "; "))
	if degraded.Reason == "" {
		list.Set(certificatesv1alpha1.ConditionDegraded, metav1.ConditionFalse, certificatesv1alpha1.ReasonIntact, "nothing that the authority relies on is lost")
		return
	}
	list.Set(certificatesv1alpha1.ConditionDegraded, metav1.ConditionTrue, degraded.Reason, strings.Join(why, "; "))
}

// overridden is what holds for longer than the plan that told it; the zero value if nothing does.
func overridden(record rotation.Record) rotation.Notice {
	switch {
	case record.Phase == rotation.Idle:
	case record.Emergency != "":
		return rotation.Notice{Reason: rotation.ReasonEmergency, Message: "the overlap is skipped: " + record.Emergency}
	case record.Adopted:
		return rotation.Notice{Reason: rotation.ReasonRecordLost, Message: "the record of the rotation was lost, and not every cluster is known to trust both authorities since"}
	}
	return rotation.Notice{}
}

// phaseMessage says what happens in a phase.
func phaseMessage(record rotation.Record) string {
	current, next := record.Current.Generation, record.Next.Generation
	if record.RollingBack {
		current, next = next, current
	}
	switch record.Phase {
	case rotation.Preparing:
		return fmt.Sprintf("every cluster is told to trust authority %d beside %d", record.Next.Generation, record.Current.Generation)
	case rotation.Prepared:
		return fmt.Sprintf("every cluster trusts authority %d beside %d", record.Next.Generation, record.Current.Generation)
	case rotation.Switching:
		return fmt.Sprintf("certificates of authority %d are replaced by those of %d", current, next)
	case rotation.Switched:
		return fmt.Sprintf("every certificate is from authority %d; %d stays trusted for spec.rotation.minOverlap", next, current)
	case rotation.Completing:
		return fmt.Sprintf("authority %d is removed from every cluster", current)
	}
	if record.Current.Generation == 0 {
		return "the authority is being made"
	}
	return fmt.Sprintf("authority %d is the only one", record.Current.Generation)
}
