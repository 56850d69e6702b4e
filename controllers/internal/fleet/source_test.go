package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/bounded"
)

func TestListsOfAClusterArePaced(t *testing.T) {
	listed := 0
	lists := source{pace: bounded.NewPace(clock.RealClock{}), list: func(context.Context, metav1.ListOptions, func(kruntime.Object) error, func(bounded.Head)) (bounded.Page, error) {
		listed++
		return bounded.Page{}, errors.New("a server that answers nothing else")
	}}
	var err error
	for range 1000 {
		// A list that would have to wait for longer fails at once.
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = lists.each(ctx, "", func(kruntime.Object) error { return nil }, func(bounded.Head) {})
		cancel()
		if err != nil && strings.Contains(err.Error(), "listed more often") {
			break
		}
	}
	if listed < 200 || listed > 900 || !strings.Contains(err.Error(), "listed more often") {
		t.Errorf("it was listed %d times, and at last: %v", listed, err)
	}
}
