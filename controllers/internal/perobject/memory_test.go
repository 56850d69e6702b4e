package perobject

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestWhatIsHeldOfAnObjectStaysUntilItIsForgotten(t *testing.T) {
	var memory Memory[int]
	one, other := types.NamespacedName{Namespace: "acme", Name: "one"}, types.NamespacedName{Namespace: "acme", Name: "other"}
	if memory.Find(one) != nil {
		t.Error("something is held of an object that nobody asked for")
	}
	*memory.Of(one) = 7
	if *memory.Of(one) != 7 || *memory.Find(one) != 7 || *memory.Of(other) != 0 {
		t.Errorf("%d and %d are held", *memory.Of(one), *memory.Of(other))
	}
	if got := memory.Where(func(held *int) bool { return *held > 0 }); !slices.Equal(got, []types.NamespacedName{one}) {
		t.Errorf("%v match", got)
	}
	memory.Forget(one)
	if memory.Find(one) != nil || *memory.Of(one) != 0 {
		t.Error("something is held of an object that was forgotten")
	}
}
