package reload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestWorkloadsAreRestartedWithinWindowsOrBeforeTheirCertificateExpires(t *testing.T) {
	at := func(after time.Duration) time.Time { return now.Add(after) }
	open := []time.Duration{-time.Hour, time.Hour}
	tomorrow := []time.Duration{24 * time.Hour, 26 * time.Hour}
	past := []time.Duration{-3 * time.Hour, -time.Hour}
	for name, test := range map[string]struct {
		unrestricted bool
		window       []time.Duration
		loadedUntil  time.Duration
		want         Window
	}{
		"a cluster without windows":                 {unrestricted: true, want: Window{Open: true}},
		"a window is open":                          {window: open, want: Window{Open: true, Closes: at(time.Hour)}},
		"a window opens tomorrow":                   {window: tomorrow, want: Window{Opens: at(24 * time.Hour), Again: at(24 * time.Hour)}},
		"nobody knows when the next one opens":      {want: Window{Again: at(time.Minute)}},
		"what the status tells is over":             {window: past, want: Window{Again: at(time.Minute)}},
		"the certificate lasts beyond the window":   {window: tomorrow, loadedUntil: 48 * time.Hour, want: Window{Opens: at(24 * time.Hour), Again: at(24 * time.Hour)}},
		"the certificate expires before the window": {window: tomorrow, loadedUntil: 20 * time.Hour, want: Window{Open: true}},
		"the certificate expires in the first hour": {window: tomorrow, loadedUntil: 24*time.Hour + 30*time.Minute, want: Window{Open: true}},
		"the certificate has expired":               {window: tomorrow, loadedUntil: -time.Hour, want: Window{Open: true}},
		"the certificate lasts, nothing is known":   {loadedUntil: 48 * time.Hour, want: Window{Again: at(time.Minute)}},
		"its last hour comes, nothing is known":     {loadedUntil: time.Hour + time.Second, want: Window{Again: at(time.Second)}},
		"its last hour is here, nothing is known":   {loadedUntil: time.Hour, want: Window{Open: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tenant := &tenancyv1alpha1.TenantCluster{}
			if !test.unrestricted {
				tenant.Spec.MaintenanceWindows = []metav1alpha1.RecurringWindow{{}}
			}
			if test.window != nil {
				tenant.Status.MaintenanceWindow = &tenancyv1alpha1.Span{Start: metav1.NewTime(at(test.window[0])), End: metav1.NewTime(at(test.window[1]))}
			}
			loadedUntil := time.Time{}
			if test.loadedUntil != 0 {
				loadedUntil = at(test.loadedUntil)
			}
			if got := WindowOf(tenant, loadedUntil, now); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
