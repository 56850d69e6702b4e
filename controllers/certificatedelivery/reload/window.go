package reload

import (
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// lastHour is how long before the end of a certificate its users are restarted, whatever the windows are.
const lastHour = time.Hour

// Window is when workloads of a cluster may be restarted.
type Window struct {
	// Open: now, and until Closes; zero for as long as one likes.
	Open   bool
	Closes time.Time
	// Opens is when they may be restarted if not now; zero if that is not known.
	Opens time.Time
	// Again is when to look again; zero for when something changes.
	Again time.Time
}

// retryWindow is when a cluster is looked at again of which nobody knows when its next window opens.
const retryWindow = time.Minute

// WindowOf is when workloads of a cluster may be restarted that may have loaded a certificate which is replaced and expires at
// loadedUntil; zero for none. Where that comes before the next maintenance window, they are not kept waiting for it. It is
// pure.
func WindowOf(tenant *tenancyv1alpha1.TenantCluster, loadedUntil, now time.Time) Window {
	if tenant == nil || len(tenant.Spec.MaintenanceWindows) == 0 {
		return Window{Open: true}
	}
	next := tenant.Status.MaintenanceWindow
	if tenant.InMaintenance(now) {
		return Window{Open: true, Closes: next.End.Time}
	}
	w := Window{Again: now.Add(retryWindow)}
	if next != nil && next.Start.After(now) {
		w.Opens, w.Again = next.Start.Time, next.Start.Time
	}
	if loadedUntil.IsZero() {
		return w
	}
	urgentAt := loadedUntil.Add(-lastHour)
	if !now.Before(urgentAt) || w.Opens.After(urgentAt) {
		return Window{Open: true}
	}
	if urgentAt.Before(w.Again) {
		w.Again = urgentAt
	}
	return w
}
