package charts

import (
	"reflect"
	"testing"
)

func TestWebUpgradeAddsChangesAndDropsOneObject(t *testing.T) {
	before := objects(t, rendered(t, "web", FirstVersion, nil).Manifest)
	after := objects(t, rendered(t, "web", SecondVersion, nil).Manifest)
	if len(before) != 15 || len(after) != 15 {
		t.Errorf("there are %d, then %d objects, want 15 each: %v", len(before), len(after), ids(before))
	}
	var added, changed, dropped []string
	for id, object := range after {
		if old, there := before[id]; !there {
			added = append(added, id)
		} else if !reflect.DeepEqual(old, object) {
			changed = append(changed, id)
		}
		delete(before, id)
	}
	dropped = ids(before)
	got := [][]string{added, changed, dropped}
	want := [][]string{{"NetworkPolicy/acme-web-egress"}, {"Deployment/acme-web"}, {"ConfigMap/acme-web-dashboard"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("added, changed, dropped = %v, want %v", got, want)
	}
}
