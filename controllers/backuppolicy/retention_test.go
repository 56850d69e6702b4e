package backuppolicy

import (
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/schedule"
)

func TestHowLongVeleroKeepsBackupsByItself(t *testing.T) {
	for name, test := range map[string]struct {
		cron     string
		ttl      time.Duration
		keepLast int32
		want     time.Duration
	}{
		"twice as long as ttl":                    {"@daily", 30 * day, 1, 60 * day},
		"twice as long as keepLast needs":         {"@weekly", 30 * day, 9, 140 * day},
		"at least a month":                        {"@daily", time.Hour, 1, 30 * day},
		"by the longest interval of several":      {"0 2 * * 1,2", day, 9, 120 * day},
		"at most 400 of them":                     {"@hourly", 10 * day, 1, 400 * time.Hour},
		"at most 400 of them, though keepLast is": {"*/5 * * * *", time.Hour, 100, 2000 * time.Minute},
		"over the time without starts":            {"* * * * 0", time.Hour, 100, 12*day + 2*time.Minute},
		"at most ten years":                       {"@yearly", day, 100, maxVeleroTTL},
		"in leap years":                           {"0 0 29 2 *", day, 100, maxVeleroTTL},
		"as long as ttl, however long that is":    {"@yearly", 20 * maxVeleroTTL, 1, 20 * maxVeleroTTL},
		"never less than ttl":                     {"@daily", 399 * day, 1, 400 * day},
	} {
		starts, refused := schedule.Parse(test.cron, "")
		if refused != nil {
			t.Fatal(refused)
		}
		if got := veleroTTL(starts, test.ttl, test.keepLast); got != test.want {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}
