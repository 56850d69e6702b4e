package truncate

import (
	"strings"
	"testing"
)

func TestWhatChangesWithEachAttemptIsLeftOut(t *testing.T) {
	for name, attempts := range map[string][3]string{
		"an expired certificate": {
			"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-22T10:00:00Z is after 2026-11-01T00:00:00Z",
			"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-11-22T10:00:31+01:00 is after 2026-11-01T00:00:00Z",
			"is after 2026-11-01T00:00:00Z",
		},
		"a port on our side": {
			"read tcp 10.0.0.1:40312->10.0.0.2:6443: read: connection reset by peer",
			"read tcp 10.0.0.1:51114->10.0.0.2:6443: read: connection reset by peer",
			"read tcp 10.0.0.2:6443: read",
		},
		"a port on our side, IPv6": {
			"write tcp [fd00::1%eth0]:40312->[fd00::2]:6443: i/o timeout",
			"write tcp [fd00::1%eth0]:40313->[fd00::2]:6443: i/o timeout",
			"write tcp [fd00::2]:6443",
		},
		"a stream": {
			"stream error: stream ID 17; INTERNAL_ERROR; received from peer",
			"stream error: stream ID 4711; INTERNAL_ERROR; received from peer",
			"INTERNAL_ERROR",
		},
		"a request's ID": {
			"403 Forbidden (Request ID: 7HK2J9XQ1B)",
			"403 Forbidden (Request ID: 9ZZ1PPQ77A)",
			"403 Forbidden (Request ID: …)",
		},
		"a gateway's header": {
			`bad gateway, x-amzn-request-id=1a2b3c4d5e6f`,
			`bad gateway, x-amzn-request-id=9f8e7d6c5b4a`,
			"bad gateway",
		},
		"an audit's ID": {
			`refused, "auditID": "6a1c1f7e-3d52-4d6e-9d0b-0f5a1c2b3d4e"`, `refused, "auditID": "0f5a1c2b-3d4e-4d6e-9d0b-6a1c1f7e3d52"`, "refused",
		},
		"an address in memory": {
			"invalid value &{0xc000123456 1}", "invalid value &{0xc0009abcde 1}", "invalid value &{0x… 1}",
		},
		"the time of the attempt": {
			"token is not valid yet: now=2026-11-22T10:00:00Z", "token is not valid yet: now=2026-11-22T10:00:07Z", "not valid yet",
		},
		"the time of the attempt, exactly": {
			"2026-11-22 10:00:00.123456789 +0000 UTC m=+3.2 is too late", "2026-11-22 10:00:01.5 +0000 UTC m=+4.3 is too late", "too late",
		},
		"how long it took": {"gave up after 5.001734s", "gave up after 5.000012s", "gave up after …"},
		"a resource version": {
			"Too large resource version: 1234, current: 1200", "Too large resource version: 1240, current: 1233", "Too large resource version",
		},
	} {
		first, second := Stable(attempts[0]), Stable(attempts[1])
		if first != second || !strings.Contains(first, attempts[2]) {
			t.Errorf("%s is told as\n%q and\n%q, want %q in both", name, first, second, attempts[2])
		}
	}
}

func TestWhatSaysSomethingStays(t *testing.T) {
	for _, text := range []string{
		"Deployment cache/web: Available: 1/3",
		"spec.port: Invalid value: 70000: must be at most 65535",
		"https://10.0.0.2:6443: connection refused: nothing listens on that port",
		"dial tcp: lookup api.example.com on 10.0.0.53:53: no such host",
		"paused until 2026-11-22T10:00:00Z (spec.suspend)",
		"the upgrade from v1.35.4 to v1.36.3 takes longer than 1m30s; 0x1F is no port",
		"ConfigMap cache/req-id belongs to SaaSAddon a/b",
		"its identity is 6a1c1f7e-3d52-4d6e-9d0b-0f5a1c2b3d4e and was 0f5a1c2b-3d4e-4d6e-9d0b-6a1c1f7e3d52",
		"keeps changing it; it was taken back 7 times, next at 10:00:00",
	} {
		if got := Stable(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAMessageIsCutAfterwards(t *testing.T) {
	text := strings.Repeat("x", 1000) + " 10.0.0.1:40312->10.0.0.2:6443 " + strings.Repeat("ü", 1<<20)
	if got := Message(text, 1020); len(got) > 1020+len(ellipsis) || !strings.Contains(got, "x 10.0.0.2:6443") {
		t.Errorf("%d bytes: %q", len(got), got[990:])
	}
}
