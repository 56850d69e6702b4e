package topology

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// Situation is what decides about the version of a cluster.
type Situation struct {
	Now time.Time
	// Wanted is the version of the order, Ordered the one that Cluster API was asked for last.
	Wanted, Ordered string
	Progress        Progress
	// Underway is the upgrade on record.
	Underway *tenancyv1alpha1.Upgrade
	// WindowOpen: maintenance may be done now. Otherwise NextWindow is when it may; zero if never.
	WindowOpen bool
	NextWindow time.Time
	Policy     tenancyv1alpha1.UpgradePolicy
	// Unready are the targets in the cluster that are not Ready.
	Unready []string
	Backup  Backup
}

// Backup is what is known of a cluster's backups.
type Backup struct {
	// Latest is when the newest good one began; zero if there is none.
	Latest time.Time
}

// Step is what to do about the version.
type Step struct {
	// Version to order now.
	Version string
	// Begin is an upgrade to put on record before anything else is done about it.
	Begin *tenancyv1alpha1.Upgrade
	// Finish takes the upgrade off the record.
	Finish bool
	// Refused: a person has to correct the order.
	Refused bool
	// Reason and Message of the condition Upgraded; True only if Upgraded.
	Upgraded        bool
	Reason, Message string
	// WakeAt is when to look again although nothing else changed; zero for never.
	WakeAt time.Time
}

// Next decides about the version. An upgrade is put on record first and ordered after that, so that what
// runs in the cluster knows of it before it begins; and it ends before another one begins.
func Next(s Situation) Step {
	switch up := s.Underway; {
	case up != nil && s.Ordered == up.To:
		return proceed(s)
	case up != nil && up.To == s.Wanted && s.Ordered == up.From:
		return handOver(s)
	case up != nil:
		// The order changed before anything was done about it.
		step := consider(s)
		step.Begin, step.Finish = nil, true
		return step
	}
	return consider(s)
}

// handOver orders what is on record, unless so much time has passed that it may not be done any more.
func handOver(s Situation) Step {
	for _, gate := range []gate{isOutsideWindow, lacksBackup} {
		if reason, message, closed := gate(s); closed {
			step := held(s, reason, message)
			step.Finish = true
			return step
		}
	}
	return Step{Version: s.Underway.To, Reason: tenancyv1alpha1.ReasonUpgrading, Message: underway(*s.Underway, "it is being ordered")}
}

// AfterOtherChanges is the step where something else of the order is changed now: an upgrade begins after that.
func (s Step) AfterOtherChanges() Step {
	if s.Begin != nil {
		s.Message = fmt.Sprintf("The upgrade from %s to %s waits: another change of the order comes first", s.Begin.From, s.Begin.To)
		s.Begin, s.Reason = nil, tenancyv1alpha1.ReasonClusterNotReady
	}
	return s
}

// proceed waits until Cluster API has done what was ordered.
func proceed(s Situation) Step {
	step := Step{Version: s.Ordered, Reason: tenancyv1alpha1.ReasonUpgrading}
	if !s.Progress.Settled {
		step.Message = underway(*s.Underway, s.Progress.Unsettled)
		if len(s.Progress.Versions) > 1 {
			step.Message += "; there are parts of " + strings.Join(s.Progress.Versions, " and ")
		}
		return step
	}
	if s.Wanted == s.Ordered {
		step = upgraded(s)
	} else {
		step.Message = underway(*s.Underway, "done; "+s.Wanted+" is next")
	}
	step.Finish = true
	return step
}

func underway(up tenancyv1alpha1.Upgrade, how string) string {
	return fmt.Sprintf("Upgrade from %s to %s since %s: %s", up.From, up.To, up.StartedAt.UTC().Format(time.RFC3339), how)
}

func upgraded(s Situation) Step {
	return Step{Version: s.Ordered, Upgraded: true, Reason: tenancyv1alpha1.ReasonUpgraded, Message: "The cluster has version " + s.Ordered + "."}
}

type gate func(Situation) (reason, message string, closed bool)

// gates are the reasons not to begin an upgrade now. The first that applies counts.
var gates = []gate{
	isUnsettled,
	isOutsideWindow,
	hasUnreadyTargets,
	lacksBackup,
}

// consider decides whether an upgrade begins.
func consider(s Situation) Step {
	if s.Wanted == s.Ordered {
		return upgraded(s)
	}
	step := Step{Version: s.Ordered}
	if problem := Skew(s.Ordered, s.Wanted); problem != "" {
		step.Refused, step.Reason, step.Message = true, tenancyv1alpha1.ReasonVersionSkew, problem
		return step
	}
	for _, gate := range gates {
		if reason, message, closed := gate(s); closed {
			return held(s, reason, message)
		}
	}
	step.Begin = &tenancyv1alpha1.Upgrade{From: s.Ordered, To: s.Wanted, StartedAt: metav1.NewTime(s.Now).Rfc3339Copy()}
	step.Reason, step.Message = tenancyv1alpha1.ReasonUpgrading, underway(*step.Begin, "what runs in the cluster pauses")
	return step
}

func held(s Situation, reason, message string) Step {
	step := Step{Version: s.Ordered, Reason: reason, WakeAt: s.NextWindow}
	step.Message = fmt.Sprintf("The upgrade from %s to %s waits: %s", s.Ordered, s.Wanted, message)
	return step
}

func isUnsettled(s Situation) (reason, message string, closed bool) {
	return tenancyv1alpha1.ReasonClusterNotReady, s.Progress.Unsettled, !s.Progress.Settled
}

func isOutsideWindow(s Situation) (reason, message string, closed bool) {
	message = "no maintenance window of spec.maintenanceWindows is open, and none will be"
	if !s.NextWindow.IsZero() {
		message = "the next maintenance window opens at " + s.NextWindow.UTC().Format(time.RFC3339)
	}
	return metav1alpha1.ReasonWindowClosed, message, !s.WindowOpen
}

// shown is how many names a message has at most.
const shown = 5

func hasUnreadyTargets(s Situation) (reason, message string, closed bool) {
	names := s.Unready[:min(len(s.Unready), shown)]
	message = fmt.Sprintf("%d of what runs in the cluster is not Ready (%s): mend it, or set spec.upgrade.ignoreUnready",
		len(s.Unready), strings.Join(names, ", "))
	return tenancyv1alpha1.ReasonTargetsNotReady, message, len(s.Unready) > 0 && !s.Policy.IgnoreUnready
}

func lacksBackup(s Situation) (reason, message string, closed bool) {
	required := s.Policy.RequireBackupWithin
	if required == nil {
		return "", "", false
	}
	within := "spec.upgrade.requireBackupWithin asks for a backup of the last " + required.Duration.String()
	switch {
	case s.Backup.Latest.IsZero():
		message = within + ", and there is none of this cluster: select it with a BackupPolicy, or ask for a backup with the annotation daytwo.dev/backup-now"
	case s.Now.Sub(s.Backup.Latest) > required.Duration:
		message = within + ", and the last one is from " + s.Backup.Latest.UTC().Format(time.RFC3339) + ": ask for one with the annotation daytwo.dev/backup-now"
	default:
		return "", "", false
	}
	return tenancyv1alpha1.ReasonBackupRequired, message, true
}
