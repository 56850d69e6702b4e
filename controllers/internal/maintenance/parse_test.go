package maintenance

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// field is where the windows of these tests are.
const field = "spec.maintenanceWindows"

func declared(schedule string, duration time.Duration, zone string) metav1alpha1.RecurringWindow {
	return metav1alpha1.RecurringWindow{Schedule: schedule, Duration: metav1.Duration{Duration: duration}, TimeZone: zone}
}

func TestWhatIsRefusedSaysWhatToWrite(t *testing.T) {
	tests := map[string]struct {
		window metav1alpha1.RecurringWindow
		want   []string
	}{
		"nothing":             {declared("", time.Hour, ""), []string{"schedule", "minute 0-59"}},
		"seconds":             {declared("0 30 2 * * 6", time.Hour, ""), []string{"schedule", "exactly 5 fields", "30 2 * * 6"}},
		"an hour too many":    {declared("0 24 * * *", time.Hour, ""), []string{"schedule", "24", "hour 0-23"}},
		"an unknown word":     {declared("@nightly", time.Hour, ""), []string{"schedule", "@nightly", "@daily"}},
		"an interval":         {declared("@every 6h", time.Hour, ""), []string{"schedule", "second field"}},
		"a zone in front":     {declared("CRON_TZ=Europe/Berlin 0 2 * * *", time.Hour, ""), []string{"schedule", "timeZone"}},
		"a zone and no more":  {declared("TZ=UTC", time.Hour, ""), []string{"schedule", "timeZone"}},
		"the 30th of a month": {declared("0 2 30 2 *", time.Hour, ""), []string{"schedule", "never comes"}},
		"an empty list":       {declared("0 , * * *", time.Hour, ""), []string{"schedule", "never comes"}},
		"no duration":         {declared("@daily", 0, ""), []string{"duration", "1m to 168h"}},
		"a long duration":     {declared("@daily", 169*time.Hour, ""), []string{"duration", "1m to 168h"}},
		"an unknown zone":     {declared("@daily", time.Hour, "Europe/Atlantis"), []string{"timeZone", "Europe/Atlantis", "IANA"}},
		"the manager's zone":  {declared("@daily", time.Hour, "Local"), []string{"timeZone", "IANA"}},
		"a path":              {declared("@daily", time.Hour, "../../etc/passwd"), []string{"timeZone", "IANA"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calendar, err := Parse(field, []metav1alpha1.RecurringWindow{declared("@daily", time.Hour, ""), test.window})
			if err == nil {
				t.Fatalf("it was taken, as %+v", calendar)
			}
			if !strings.HasPrefix(err.Error(), field+"[1]."+test.want[0]+": ") {
				t.Errorf("the error does not begin with the field: %v", err)
			}
			for _, word := range test.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
			if !calendar.Empty() {
				t.Error("what is refused left windows")
			}
		})
	}
}

func TestSchedulesThatCronKnowsAreTaken(t *testing.T) {
	for _, schedule := range []string{
		"30 2 * * 6", "0 22-23,0-4 * * mon-fri", "*/15 * 1,15 jan,jul ?", "0 3 29 2 *", " 0 3 * * * ",
		"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually",
	} {
		if _, err := Parse(field, []metav1alpha1.RecurringWindow{declared(schedule, time.Hour, "")}); err != nil {
			t.Error(err)
		}
	}
}

func TestZonesAreTakenByTheirNames(t *testing.T) {
	for _, zone := range []string{"", "UTC", "Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe"} {
		if _, err := Parse(field, []metav1alpha1.RecurringWindow{declared("@daily", time.Minute, zone)}); err != nil {
			t.Error(err)
		}
	}
}
