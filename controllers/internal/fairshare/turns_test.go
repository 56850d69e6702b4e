package fairshare

import (
	"context"
	"errors"
	"testing"
)

func TestATenantWithManyRequestsLeavesAPlaceToOthers(t *testing.T) {
	turns := NewTurns(LimitsOf(2))
	ctx, cancel := context.WithCancelCause(context.Background())
	release, err := turns.Take(ctx, Claim{Tenant: "greedy"})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 64)
	for range cap(waiting) {
		go func() {
			_, err := turns.Take(ctx, Claim{Tenant: "greedy"})
			waiting <- err
		}()
	}
	other, err := turns.Take(t.Context(), Claim{Tenant: "other"})
	if err != nil {
		t.Fatal(err)
	}
	other()
	enough := errors.New("enough")
	cancel(enough)
	for range cap(waiting) {
		if err := <-waiting; !errors.Is(err, enough) {
			t.Fatalf("whoever waited got %v", err)
		}
	}
	release()
	if held, waits := turns.scheduler.Held(), turns.scheduler.Waiting(); held+waits > 0 {
		t.Fatalf("%d places are held and %d waited for after all ended", held, waits)
	}
}
