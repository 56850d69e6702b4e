package fleet

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

// TestListsOfAClusterArePaced: each list waits for the pace of the cluster, and none begins that may not.
func TestListsOfAClusterArePaced(t *testing.T) {
	tooOften := errors.New("listed more often")
	awaited, listed := 0, 0
	lists := source{
		awaitList: func(context.Context) error {
			if awaited++; awaited > 2 {
				return tooOften
			}
			return nil
		},
		list: func(context.Context, metav1.ListOptions, func(kruntime.Object) error, func(bounded.Head)) (bounded.Page, error) {
			listed++
			return bounded.Page{}, errors.New("a server that answers nothing else")
		},
	}
	var err error
	for range 3 {
		_, err = lists.each(t.Context(), "", "", func(kruntime.Object) error { return nil }, func(bounded.Head) {})
	}
	if awaited != 3 || listed != 2 || !errors.Is(err, tooOften) {
		t.Errorf("it was listed %d times after waiting %d times, and at last: %v", listed, awaited, err)
	}
}
