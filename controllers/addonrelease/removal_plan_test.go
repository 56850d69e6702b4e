package addonrelease

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

func widgetRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Namespace: "acme", Name: name}
}

// live is an object as a cluster has it.
func live(ref objects.Ref, uid types.UID, finalizers ...string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name, UID: uid, Finalizers: finalizers, Labels: map[string]string{metav1alpha1.LabelManagedBy: installation},
	}}
}

func terminating(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	deleted := metav1.NewTime(noon)
	object.DeletionTimestamp = &deleted
	return object
}

func TestTheNextMoveOfARemoval(t *testing.T) {
	widget := widgetRef("w")
	waiting := deletion{uid: "u", sent: true, looks: 1, looked: noon.Add(-time.Second), next: noon.Add(time.Second)}
	due := deletion{uid: "u", sent: true, looks: 1, looked: noon.Add(-2 * time.Second), next: noon}
	rows := map[string]struct {
		kind   objects.Ref
		change func(*removal)
		want   move
	}{
		"what is there is asked to go":                {widget, func(*removal) {}, ask},
		"what no watch has shown is asked to go":      {widget, func(r *removal) { r.seen = nil }, ask},
		"what is kept stays":                          {widget, func(r *removal) { r.kept = true }, leave},
		"what was only intended is looked at":         {widget, func(r *removal) { r.uid = "" }, look},
		"what a namespace holds is looked at":         {namespaceRef("acme"), func(*removal) {}, look},
		"what was asked to go is given time":          {widget, func(r *removal) { r.deletion = waiting }, await},
		"what did not go in time is looked at":        {widget, func(r *removal) { r.deletion = due }, look},
		"what vanished is looked at":                  {widget, func(r *removal) { r.seen = &fleet.Seen{Gone: true, At: noon} }, look},
		"at once, though there was time":              {widget, func(r *removal) { r.deletion = waiting; r.seen = &fleet.Seen{Gone: true, At: noon} }, look},
		"but not again because of the same sighting":  {widget, func(r *removal) { r.deletion = waiting; r.seen = &fleet.Seen{Gone: true, At: noon.Add(-time.Minute)} }, await},
		"so is what another took the place of":        {widget, func(r *removal) { r.deletion = due; r.seen.UID = "other" }, look},
		"what is seen to be going is waited for":      {widget, func(r *removal) { r.deletion = due; r.seen.Object = terminating(live(widget, "u", "f")) }, await},
		"also if it was not asked to":                 {widget, func(r *removal) { r.seen.Object = terminating(live(widget, "u", "f")) }, await},
		"whoever holds it is looked up if need be":    {widget, func(r *removal) { r.seen.Health.Status = status.TerminatingStatus }, look},
		"a namespace that is going is waited for too": {namespaceRef("acme"), func(r *removal) { r.seen.Object = terminating(live(namespaceRef("acme"), "u")) }, await},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			one := removal{entry: entry{Ref: row.kind, uid: "u", fingerprint: "f"}, seen: &fleet.Seen{UID: "u", At: noon.Add(-time.Hour)}}
			row.change(&one)
			if got := one.move(noon); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestLooksBackOff(t *testing.T) {
	d := deletion{}
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
		if d = d.again(noon, "why"); d.next.Sub(noon) != want || d.why != "why" {
			t.Errorf("look %d is followed by %s, want %s", d.looks, d.next.Sub(noon), want)
		}
	}
}

func TestAnObjectIsExaminedBeforeItCountsAsGone(t *testing.T) {
	known := removal{entry: entry{Ref: widgetRef("w"), uid: "u"}}
	sent, intended := known, known
	sent.deletion.sent, intended.uid = true, ""
	unlabelled := live(widgetRef("w"), "u")
	unlabelled.Labels = nil
	rows := map[string]struct {
		removal removal
		object  *metav1.PartialObjectMetadata
		owner   string
		want    finding
	}{
		"it is not there":                      {known, nil, "", foundGone},
		"another has its name":                 {known, live(widgetRef("w"), "other"), "", foundGone},
		"it is there":                          {known, live(widgetRef("w"), "u"), "", foundPresent},
		"it lost our label":                    {known, unlabelled, "", foundPresent},
		"it is going":                          {known, terminating(live(widgetRef("w"), "u")), "", foundTerminating},
		"somebody took it over":                {known, live(widgetRef("w"), "u"), "Helm release a/b", foundOfOthers},
		"too late":                             {sent, live(widgetRef("w"), "u"), "Helm release a/b", foundPresent},
		"it was made before the manager died":  {intended, live(widgetRef("w"), "u"), "", foundPresent},
		"it was not, and is somebody else's":   {intended, unlabelled, "", foundGone},
		"it was not, and belongs to a release": {intended, live(widgetRef("w"), "u"), "Helm release a/b", foundGone},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			if got := row.removal.examine(row.object, installation, row.owner); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestRemovalsRememberHowFarTheyCame(t *testing.T) {
	a := configMapRef("a")
	o := scene(deleting, func(o *observation) {
		o.desired = nil
		o.deletions = map[objects.Key]deletion{
			a.Key():                 {uid: "a", sent: true, next: noon.Add(time.Second)},
			configMapRef("b").Key(): {uid: "an earlier one", sent: true},
		}
	})
	removals := planRemovals(o.objects())
	if len(removals) != 2 || !removals[0].deletion.sent || removals[1].deletion.sent {
		t.Fatalf("got %+v", removals)
	}
	o.request = "now"
	if removals = planRemovals(o.objects()); !removals[0].deletion.sent || !removals[0].deletion.next.IsZero() {
		t.Errorf("a person who asks for a try has to wait: %+v", removals[0].deletion)
	}
}

func TestWhatDoesNotWaitForItsTurn(t *testing.T) {
	of := func(group, kind string, external bool) removal {
		return removal{entry: entry{Ref: objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Kind: kind}}, external: external}}
	}
	later := []removal{
		of("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", false), of("apiregistration.k8s.io", "APIService", false),
		of("apps", "Deployment", false), of("apps", "StatefulSet", true), of("", "Service", false), of("", "Service", true),
		of("", "Namespace", false), of("networking.k8s.io", "Ingress", true),
	}
	for _, row := range []struct {
		unblocks, clusterDeleted bool
		want                     string
	}{
		{false, false, ""},
		{true, false, "ValidatingWebhookConfiguration"},
		{false, true, "Service Ingress"},
	} {
		var got []string
		for _, one := range outOfTurn(slices.Clone(later), row.unblocks, row.clusterDeleted) {
			got = append(got, one.Kind)
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("unblocks %t, goes along %t: got %v, want %s", row.unblocks, row.clusterDeleted, got, row.want)
		}
	}
}

func TestWhatIsWaitedForIsNamedWithWhoHoldsIt(t *testing.T) {
	waits := func(name, why string) removed {
		return removed{removal: removal{entry: entry{Ref: widgetRef(name)}, deletion: deletion{why: why}}}
	}
	cleanup := finalizersOf(live(widgetRef("w"), "u", "widgets.example.com/cleanup"))
	rows := map[string][]removed{
		"waiting for Widget acme/w to be gone":                                                         {waits("w", "")},
		"waiting for Widget acme/w to be gone: finalizer widgets.example.com/cleanup":                  {waits("w", cleanup)},
		"waiting for Widget acme/v (finalizers a, b), Widget acme/u to be gone":                        {waits("u", ""), waits("v", finalizersOf(live(widgetRef("v"), "v", "a", "b")))},
		"waiting for Widget acme/d (finalizer a), Widget acme/a, Widget acme/b, and 1 more to be gone": {waits("a", ""), waits("b", ""), waits("c", ""), waits("d", "finalizer a")},
	}
	for want, list := range rows {
		if got := removalMessage(list); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := finalizersOf(live(widgetRef("w"), "u", "a", "b", "c", "d", "e")); got != "finalizers a, b, c, and 2 more" {
		t.Error(got)
	}
}
