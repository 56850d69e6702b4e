package order

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/daytwo-dev/daytwo/e2e/environment"
)

const (
	// patience with what should have happened long before.
	patience  = 2 * time.Minute
	lookEvery = 100 * time.Millisecond
)

var env *environment.Environment

func TestMain(m *testing.M) {
	flag.Parse()
	// Tests wait more than they work, so that processors are no measure for how many run at a time.
	_ = flag.Set("test.parallel", "4") // The flag exists.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run leaves nothing behind, except logs when a test failed.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "daytwo-order")
	if err != nil {
		return 1, err
	}
	defer func() {
		if code == 0 && err == nil {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(os.Stderr, "logs are in", dir)
	}()
	env, err = environment.Start(context.Background(), environment.Options{
		StateDir: dir, ClusterAPI: true, Progress: os.Stderr, ManagerArgs: []string{"--leader-election=off"},
	})
	if err != nil {
		return 1, err
	}
	defer func() {
		if closeErr := env.Close(); err == nil {
			err = closeErr
		}
	}()
	return m.Run(), nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually looks until there is nothing to complain about. It does not end with the test's context,
// since cleaning up waits too.
func eventually(t testing.TB, what string, look func(context.Context) error) {
	t.Helper()
	latest := errors.New("there was no look at it")
	err := wait.PollUntilContextTimeout(context.Background(), lookEvery, patience, true, func(ctx context.Context) (bool, error) {
		if err := look(ctx); err == nil || ctx.Err() == nil {
			latest = err
		}
		return latest == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s: %v", what, patience, latest)
	}
}

// has complains unless a condition is as wanted; an empty reason may be any.
func has(conditions []metav1.Condition, kind string, is metav1.ConditionStatus, reason string) error {
	condition := meta.FindStatusCondition(conditions, kind)
	if condition == nil || condition.Status != is || (reason != "" && condition.Reason != reason) {
		return fmt.Errorf("want %s=%s (%s), got: %s", kind, is, reason, describe(conditions))
	}
	return nil
}

func describe(conditions []metav1.Condition) string {
	text := ""
	for _, c := range conditions {
		text += fmt.Sprintf("\n  %s=%s (%s) %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func inNamespace(name string) client.ListOption { return client.InNamespace(name) }

func mergePatch(content string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(content))
}
