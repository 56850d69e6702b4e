package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// waitGone waits until an object does not exist.
func waitGone(t testing.TB, c client.Client, object client.Object) {
	t.Helper()
	expect.Eventually(t, fmt.Sprintf("%T %s is gone", object, client.ObjectKeyFromObject(object)), func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is there, deleted at %v, with finalizers %v", object.GetDeletionTimestamp(), object.GetFinalizers())
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func message(conditions []metav1.Condition, kind string) string {
	if condition := meta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Message
	}
	return ""
}
