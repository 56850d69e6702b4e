package main

import "testing"

func TestTheManagerLeavesMemoryOfItsContainerToTheRenderWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		container, own string
		want           int64
	}{
		"of 4 GiB":       {"4294967296", "", 2576980378},
		"no limit":       {"", "", 0},
		"no number":      {"4Gi", "", 0},
		"a person's own": {"4294967296", "1GiB", 0},
		"nothing":        {"0", "", 0},
	} {
		environment := map[string]string{memoryLimitVariable: c.container, "GOMEMLIMIT": c.own}
		if got := memoryLimit(func(name string) string { return environment[name] }); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
