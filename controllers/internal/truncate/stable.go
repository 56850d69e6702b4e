package truncate

import "regexp"

// Message is a text for a status: without what is different in each attempt, and cut to so many bytes. A status
// that says the same thing in other words costs a write, an event and a reconcile of all that watch it.
func Message(text string, most int) string {
	// What is cut off is not looked at, apart from a token at the edge.
	const edge = 256
	if len(text) > most+edge {
		text = text[:most+edge]
	}
	return Cut(Stable(text), most)
}

// volatile are the parts of error texts that change from one attempt to the next, and what is told instead.
// The texts are those of Go's standard library, of API servers and etcd, and of proxies in front of them.
var volatile = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// crypto/x509: "certificate has expired or is not yet valid: current time 2026-11-22T10:00:00Z is after ..."
	{regexp.MustCompile(`\bcurrent time \S+ is\b`), "the current time is"},
	// net.OpError: "read tcp 10.0.0.1:40312->10.0.0.2:6443: connection reset by peer"; the first port is ours.
	{regexp.MustCompile(`(?:\[[0-9a-fA-F:.%\w]+\]|\b\d{1,3}(?:\.\d{1,3}){3}):\d+->`), ""},
	// golang.org/x/net/http2: "stream error: stream ID 17; INTERNAL_ERROR"
	{regexp.MustCompile(`\bstream ID \d+`), "a stream"},
	{regexp.MustCompile(`\bLastStreamID=\d+`), "LastStreamID=…"},
	// "Too large resource version: 123, current: 100"
	{regexp.MustCompile(`(?i)\b(resource ?version:? "?)\d+("?)(, current: \d+)?`), "${1}…${2}"},
	// Identifiers of requests, traces and audits, as gateways quote them.
	{regexp.MustCompile(`(?i)\b((?:x-)?(?:amzn?-|goog-|ms-)?(?:request|req|host|trace|correlation|audit|span|transaction)[-_ ]?id"?\s*[:=]\s*)["']?[0-9A-Za-z][0-9A-Za-z+/=_.:-]{5,}`), "${1}…"},
	// Pointers that somebody printed.
	{regexp.MustCompile(`\b0x[0-9a-fA-F]{6,16}\b`), "0x…"},
	// The time of the attempt: with a fraction, or after the word now.
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d+(?:Z| ?[+-]\d\d:?\d\d)?(?: [A-Z]{3,4})?(?: m=[+-][\d.]+)?`), "…"},
	{regexp.MustCompile(`\b(now(?: is|:|=)? ?)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)?`), "${1}…"},
	// How long something took, as Go prints it: "after 5.001734s".
	{regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+\.\d{3,}(?:s|ms|µs|us)\b`), "…"},
}

// Stable takes out of an error's text what is different in each attempt though nothing has changed: the time, ports
// on our side, identifiers of requests, addresses in memory. A text without any of that stays as it is.
func Stable(text string) string {
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return text
}
