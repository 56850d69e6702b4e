package orphanrecord

import (
	"net/http"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/e2e/faults"
)

func TestARecordKeepsWhatIsNotKnownToBeGone(t *testing.T) {
	t.Parallel()
	bare := func(e faults.Exchange) { http.NotFound(e.Response, e.Request) }
	empty := func(e faults.Exchange) {
		e.Response.Header().Set("Content-Type", "application/json")
		_, _ = e.Response.Write([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"other"}}`))
	}
	for _, row := range []struct {
		name, verb string
		action     faults.Action
	}{
		{"AReadIsAnsweredWithGarbage", "get", faults.Garbage()},
		{"AReadIsAnsweredWithoutTheObject", "get", empty},
		{"AReadIsAnsweredByAProxyThatFindsNothing", "get", bare},
		{"AReadIsAnsweredWithA404OfNothing", "get", faults.NotFound()},
		{"ADeletionIsAnsweredWithGarbage", "delete", faults.Garbage()},
		{"ADeletionIsAnsweredWithAConflict", "delete", faults.Conflict()},
		{"ADeletionIsAnsweredByAProxyThatFindsNothing", "delete", bare},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			proxy := faults.Start(t, shared.config)
			access, err := kubeconfig.Parse(proxy.Kubeconfig(), kubeconfig.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := newRigBy(t, access)
			object := r.configMap("left")
			r.record(r.make(object))
			fault := proxy.Inject(faults.Rule{Match: faults.Match{Verbs: []string{row.verb}, Resources: []string{"configmaps"}, Names: []string{"left"}}, Action: row.action})
			for range 3 {
				if records := r.reconcile(); len(records) != 1 || !r.there(object) {
					t.Fatalf("the object is there: %t, and the records are %+v", r.there(object), records)
				}
			}
			if fault.Count() == 0 {
				t.Error("no request met the fault")
			}
			fault.Remove()
			r.settle()
			if r.there(object) {
				t.Error("no record is left, and the object is there")
			}
		})
	}
}
