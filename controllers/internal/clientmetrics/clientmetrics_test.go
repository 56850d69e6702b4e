package clientmetrics

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// told are the labels that were counted.
type told []string

func (l *told) Increment(_ context.Context, code, method, host string) {
	*l = append(*l, fmt.Sprintf("%s %s %q", code, method, host))
}

func (l *told) IncrementRetry(ctx context.Context, code, method, host string) {
	l.Increment(ctx, code, method, host)
}

func (l *told) Observe(_ context.Context, verb, host string, _ float64) {
	*l = append(*l, fmt.Sprintf("%s %q", verb, host))
}

func TestLabelsOfRequestsAreOfFixedSets(t *testing.T) {
	var got told
	for _, request := range [][3]string{
		{"200", "GET", "10.0.0.1:6443"}, {"409", "PATCH", "a.customer.example"}, {"299", "POST", "b"}, {"999", "GET", "c"}, {"0", "GET", "c"},
		{"", "", ""}, {"2000", "GET", "c"}, {"<error>", "DELETE", "d"}, {"404", "BREW", "e"},
	} {
		results{&got}.Increment(t.Context(), request[0], request[1], request[2])
	}
	retries{&got}.IncrementRetry(t.Context(), "429", "PUT", "f")
	sizes{&got}.Observe(t.Context(), "HEAD", "g", 7)
	want := told{
		`2xx GET ""`, `4xx PATCH ""`, `2xx POST ""`, `other GET ""`, `other GET ""`, `other other ""`, `other GET ""`,
		`<error> DELETE ""`, `4xx other ""`, `4xx PUT ""`, `HEAD ""`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("counted\n%q, want\n%q", got, want)
	}
}
