package drdrill

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/assertion"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/plural"
)

const (
	// maxAsserted is how many objects an assertion is about, and maxAssertedBytes how many bytes of JSON they have.
	maxAsserted      = 5_000
	maxAssertedBytes = 32 << 20
)

// checkAssertions returns a mistake in the assertions of a drill; nil for none.
func checkAssertions(assertions []backupv1alpha1.DrillAssertion) error {
	for i, one := range assertions {
		if _, err := assertion.Compile(one.Expression); err != nil {
			return mistaken("spec.verify.assertions[%d].expression is wrong, correct it in another drill: %s", i, err)
		}
	}
	return nil
}

// assert is the task that evaluates the assertions.
func (r *Reconciler) assert(ctx context.Context, v view) (func(*backupv1alpha1.DRDrillStatus), error) {
	drill := v.Run
	cluster, err := clusterOf(v, actionRestore)
	if err != nil {
		return nil, err
	}
	var checks []backupv1alpha1.DrillCheck
	for _, one := range drill.Spec.Verify.Assertions {
		result, err := evaluate(ctx, cluster, drill, one)
		if err != nil {
			return nil, fmt.Errorf("assertion %s: %w", one.Name, err)
		}
		checks = append(checks, result)
	}
	return func(status *backupv1alpha1.DRDrillStatus) { status.Checks = append(status.Checks, checks...) }, nil
}

// errTooMuch ends the reading of objects.
var errTooMuch = errors.New("too much")

// evaluate an assertion. An error is tried again.
func evaluate(ctx context.Context, cluster *fleet.Cluster, drill *backupv1alpha1.DRDrill, one backupv1alpha1.DrillAssertion) (backupv1alpha1.DrillCheck, error) {
	name := backupv1alpha1.CheckAssertionPrefix + one.Name
	compiled, err := assertion.Compile(one.Expression)
	if err != nil {
		return check(name, backupv1alpha1.CheckNotChecked, "the expression is wrong: %s", err), nil
	}
	kind, namespaces := schema.FromAPIVersionAndKind(one.APIVersion, one.Kind), namespacesOf(drill, one.Namespace)
	if len(namespaces) == 0 {
		return check(name, backupv1alpha1.CheckNotChecked, "namespace %s is not restored by this drill", one.Namespace), nil
	}
	objects, err := asserted(ctx, cluster, kind, namespaces)
	switch {
	case meta.IsNoMatchError(err):
		return check(name, backupv1alpha1.CheckFailed, "the cluster does not serve %s of %s", kind.Kind, kind.GroupVersion()), nil
	case errors.Is(err, errTooMuch):
		return check(name, backupv1alpha1.CheckNotChecked, "there are more than %d objects, or they have more than %d MiB: name a namespace", maxAsserted, maxAssertedBytes>>20), nil
	case err != nil:
		return backupv1alpha1.DrillCheck{}, err
	}
	holds, err := compiled.Holds(ctx, objects)
	switch {
	case ctx.Err() != nil:
		return backupv1alpha1.DrillCheck{}, ctx.Err()
	case err != nil:
		return check(name, backupv1alpha1.CheckFailed, "of %s %s", plural.Of(len(objects), "object"), err), nil
	case !holds:
		return check(name, backupv1alpha1.CheckFailed, "is not true of %s: %s", plural.Of(len(objects), "object"), one.Expression), nil
	}
	return check(name, backupv1alpha1.CheckPassed, "is true of %s", plural.Of(len(objects), "object")), nil
}

// namespacesOf a drill as they are called in the cluster, or the one that has a name in the backup.
func namespacesOf(drill *backupv1alpha1.DRDrill, archived string) (names []string) {
	for _, namespace := range drill.Status.Namespaces {
		if archived == "" || namespace.Name == archived {
			names = append(names, namespace.RestoredAs)
		}
	}
	return names
}

func asserted(ctx context.Context, cluster *fleet.Cluster, kind schema.GroupVersionKind, namespaces []string) (objects []*unstructured.Unstructured, err error) {
	size := 0
	for _, namespace := range namespaces {
		err := cluster.Each(ctx, kind, namespace, "", maxAsserted, func(object *unstructured.Unstructured) error {
			raw, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			if size += len(raw); len(objects) >= maxAsserted || size > maxAssertedBytes {
				return errTooMuch
			}
			objects = append(objects, object)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}
