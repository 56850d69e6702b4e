package main

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/bench/faults"
)

func TestThirtyPercentOfAllClustersAreUnreachable(t *testing.T) {
	for reachable, want := range map[int]int{20: 9, 70: 30, 700: 300, 3: len(faults.All())} {
		if got := unreachableAmong(reachable); got != want {
			t.Errorf("beside %d reachable clusters there are %d, want %d", reachable, got, want)
		}
	}
}

func TestEitherSideHasAsManyStages(t *testing.T) {
	var with int
	for _, stage := range stages {
		if stage == someUnreachable {
			with++
		}
	}
	if 2*with != len(stages) {
		t.Errorf("%d of %d stages are with unreachable clusters", with, len(stages))
	}
	if last := stages[len(stages)-1]; last != someUnreachable {
		t.Errorf("attempts are counted after a stage with %s", last)
	}
	for count, want := range map[int]int{200: 50, 11: 3, 1: 1} {
		if got := perStage(count); got != want {
			t.Errorf("a stage has %d of %d, want %d", got, count, want)
		}
	}
}

func TestLatenciesAreHeldAgainstThoseWithAllReachable(t *testing.T) {
	var seen latencies
	seen.edits[allReachable] = []time.Duration{4 * time.Millisecond, 5 * time.Millisecond, 90 * time.Millisecond}
	seen.edits[someUnreachable] = []time.Duration{6 * time.Millisecond}
	seen.rollOuts[allReachable] = []time.Duration{2 * time.Second}
	seen.rollOuts[someUnreachable] = []time.Duration{time.Second, 3 * time.Second, 4 * time.Second}
	want := []result{
		{Name: unreachableDriftRow, Value: 6, Unit: "ms", Floor: 5, Ratio: 1.2},
		{Name: unreachableConvergeRow, Value: 3, Unit: "s", Floor: 2, Ratio: 1.5},
	}
	if got := seen.results(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAttemptsAreThoseOfTheTimeInWhichTheyAreCounted(t *testing.T) {
	out, err := (&bench{}).newOutage(len(faults.All()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := out.close(); err != nil {
			t.Error(err)
		}
	}()
	silent := out.with("silence")
	try(t, silent)
	made, err := out.attempts(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, attempts := range made {
		if attempts != 0 {
			t.Errorf("%s was tried %d times meanwhile", name, attempts)
		}
		if strings.Contains(name, "closed-port") || strings.Contains(name, "swallowed-packets") {
			t.Errorf("%s cannot count, and is counted", name)
		}
	}
	if attempts, _ := silent.Attempts(); attempts != 1 || len(made) != len(faults.All())-2 {
		t.Errorf("it was tried %d times before; counted are %v", attempts, made)
	}
}

// try returns when the server has seen an attempt.
func try(t *testing.T, server *faults.Server) {
	t.Helper()
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := poll(t.Context(), "the attempt is seen", func(context.Context) (bool, error) {
		attempts, _ := server.Attempts()
		return attempts > 0, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestFaultsToReconnectThroughAreThere(t *testing.T) {
	var known []string
	for _, fault := range faults.All() {
		known = append(known, fault.Name)
	}
	for _, name := range slices.Concat(hanging, failing) {
		if !slices.Contains(known, name) {
			t.Errorf("there is no fault %s", name)
		}
	}
}

func TestACustomersObjectsLookLikeDaytwos(t *testing.T) {
	b := &bench{installation: "this-one", options: options{hostileObjects: 2}}
	for i, want := range []int{hostileBytes, hostileBytes, largeBytes} {
		object := b.hostileObject(i)
		if got := len(object.Data["ballast"]); got != want || object.Labels[metav1alpha1.LabelManagedBy] != "this-one" {
			t.Errorf("object %d has %d bytes and labels %v, want %d", i, got, object.Labels, want)
		}
	}
}
