package apply

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
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/tracker"
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
	waiting := Deletion{UID: "u", Sent: true, looks: 1, looked: noon.Add(-time.Second), Next: noon.Add(time.Second)}
	due := Deletion{UID: "u", Sent: true, looks: 1, looked: noon.Add(-2 * time.Second), Next: noon}
	rows := map[string]struct {
		kind   objects.Ref
		change func(*Removal)
		want   step
	}{
		"what is there is asked to go":                  {widget, func(*Removal) {}, ask},
		"what no watch has shown is asked to go":        {widget, func(r *Removal) { r.seen = nil }, ask},
		"what is kept stays":                            {widget, func(r *Removal) { r.Kept = true }, leave},
		"what was only intended is looked at":           {widget, func(r *Removal) { r.UID = "" }, look},
		"what a namespace holds is looked at":           {namespaceRef("acme"), func(*Removal) {}, look},
		"what was asked to go is given time":            {widget, func(r *Removal) { r.Deletion = waiting }, await},
		"what did not go in time is looked at":          {widget, func(r *Removal) { r.Deletion = due }, look},
		"what vanished is looked at":                    {widget, func(r *Removal) { r.seen = &tracker.Seen{Gone: true, At: noon} }, look},
		"at once, though there was time":                {widget, func(r *Removal) { r.Deletion = waiting; r.seen = &tracker.Seen{Gone: true, At: noon} }, look},
		"but not again because of the same observation": {widget, func(r *Removal) { r.Deletion = waiting; r.seen = &tracker.Seen{Gone: true, At: noon.Add(-time.Minute)} }, await},
		"so is what another took the place of":          {widget, func(r *Removal) { r.Deletion = due; r.seen.UID = "other" }, look},
		"what is seen to be going is waited for":        {widget, func(r *Removal) { r.Deletion = due; r.seen.Object = terminating(live(widget, "u", "f")) }, await},
		"also if it was not asked to":                   {widget, func(r *Removal) { r.seen.Object = terminating(live(widget, "u", "f")) }, await},
		"whoever holds it is looked up if need be":      {widget, func(r *Removal) { r.seen.Health.Status = status.TerminatingStatus }, look},
		"a namespace that is going is waited for too":   {namespaceRef("acme"), func(r *Removal) { r.seen.Object = terminating(live(namespaceRef("acme"), "u")) }, await},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			one := Removal{Entry: Entry{Ref: row.kind, UID: "u", Fingerprint: "f"}, seen: &tracker.Seen{UID: "u", At: noon.Add(-time.Hour)}}
			row.change(&one)
			if got := one.next(noon); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestLooksBackOff(t *testing.T) {
	d := Deletion{}
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
		if d = d.again(noon, "why"); d.Next.Sub(noon) != want || d.why != "why" {
			t.Errorf("look %d is followed by %s, want %s", d.looks, d.Next.Sub(noon), want)
		}
	}
}

func TestAnObjectIsExaminedBeforeItCountsAsGone(t *testing.T) {
	known := Removal{Entry: Entry{Ref: widgetRef("w"), UID: "u"}}
	sent, intended := known, known
	sent.Deletion.Sent, intended.UID = true, ""
	unlabelled := live(widgetRef("w"), "u")
	unlabelled.Labels = nil
	rows := map[string]struct {
		removal Removal
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

func TestWhatDoesNotWaitForItsTurn(t *testing.T) {
	of := func(group, kind string, external bool) Removal {
		return Removal{Entry: Entry{Ref: objects.Ref{GroupVersionKind: schema.GroupVersionKind{Group: group, Kind: kind}}, External: external}}
	}
	later := []Removal{
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
	waits := func(name, why string) Removed {
		return Removed{Removal: Removal{Entry: Entry{Ref: widgetRef(name)}, Deletion: Deletion{why: why}}}
	}
	cleanup := finalizersOf(live(widgetRef("w"), "u", "widgets.example.com/cleanup"))
	rows := map[string][]Removed{
		"waiting for Widget acme/w to be gone":                                                        {waits("w", "")},
		"waiting for Widget acme/w to be gone: finalizer widgets.example.com/cleanup":                 {waits("w", cleanup)},
		"waiting for Widget acme/v (finalizers a, b), Widget acme/u to be gone":                       {waits("u", ""), waits("v", finalizersOf(live(widgetRef("v"), "v", "a", "b")))},
		"waiting for Widget acme/d (finalizer a), Widget acme/a, Widget acme/b and 1 more to be gone": {waits("a", ""), waits("b", ""), waits("c", ""), waits("d", "finalizer a")},
	}
	for want, list := range rows {
		if got := RemovalMessage(list); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := finalizersOf(live(widgetRef("w"), "u", "a", "b", "c", "d", "e")); got != "finalizers a, b, c and 2 more" {
		t.Error(got)
	}
}
