package relay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance"
	"github.com/daytwo-dev/daytwo/controllers/internal/issuance/issuancetest"
)

// signed is a certificate for the key of a request.
func signed(t testing.TB, root issuancetest.Certificate, r request, name string, changes ...issuancetest.Change) map[string]any {
	t.Helper()
	read, err := issuance.ReadRequest(r.pem)
	if err != nil {
		t.Fatal(err)
	}
	leaf := root.LeafFor(t, name, publicOnly{read.Public}, changes...)
	return statusOf(leaf.PEM(), root.PEM(), condition("Ready", "True", "Issued"))
}

// described is a plan in a few words.
func described(p plan) string {
	var words []string
	for _, one := range p.answers {
		what := string(one.condition)
		if what == "" {
			what = "certificate"
		}
		words = append(words, what+" "+one.name)
	}
	if len(p.create) > 0 {
		words = append(words, fmt.Sprintf("ask for %d", len(p.create)))
	}
	if len(p.remove) > 0 {
		words = append(words, fmt.Sprintf("remove %d", len(p.remove)))
	}
	return strings.Join(words, ", ")
}

func TestARequestGoesStepByStep(t *testing.T) {
	root := issuancetest.Root(t, "root")
	p := newPolicy(t, nil)
	open, bad := newRequest(t, "one"), newRequest(t, "one")
	bad.usages = []string{"client auth"}
	approve := func(r request) request { r.approved, r.conditions = true, true; return r }
	issued := func(name string, changes ...issuancetest.Change) func(*observation, request) {
		return func(o *observation, r request) { o.makes(r, time.Minute, signed(t, root, r, name, changes...)) }
	}
	pending := func(o *observation, r request) {
		o.makes(r, time.Minute, statusOf(nil, nil, condition("Ready", "False", "Pending")))
	}
	for name, row := range map[string]struct {
		request request
		made    func(*observation, request)
		want    string
		// says is in the message of the answer, or of the condition RequestsServed.
		says string
	}{
		"it is approved first":              {request: open, want: "Approved one"},
		"then cert-manager is asked":        {request: approve(open), want: "ask for 1"},
		"the issuer has time":               {request: approve(open), made: pending, says: "said by cert-manager"},
		"what was issued is written":        {request: approve(open), made: issued(allowed), want: "certificate one"},
		"one that is not allowed is denied": {request: bad, want: "Denied one", says: "client auth"},
		"one that somebody approved fails":  {request: approve(bad), want: "Failed one", says: "client auth"},
		"what the issuer refuses fails": {request: approve(open), made: func(o *observation, r request) {
			o.makes(r, 0, statusOf(nil, nil, condition("Ready", "False", "Failed")))
		}, want: "Failed one", says: "said by cert-manager"},
		"what cert-manager's approvers deny fails": {request: approve(open), made: func(o *observation, r request) {
			o.makes(r, 0, statusOf(nil, nil, condition("Denied", "True", "Policy")))
		}, want: "Failed one", says: "said by cert-manager"},
		"another name than was asked for is not written":  {request: approve(open), made: issued("evil.test"), want: "Failed one", says: "shop"},
		"one for longer than was asked for is not either": {request: approve(open), made: issued(allowed, issuancetest.Valid(0, 400*24*time.Hour)), want: "Failed one", says: "maxDuration"},
		"one that is not valid yet is waited for":         {request: approve(open), made: issued(allowed, issuancetest.Valid(time.Minute, time.Hour)), says: "is valid from"},
		"one that has its answer is left alone":           {request: request{name: "one", uid: "uid-one", answer: answerIssued}},
		"a restored cluster approves again":               {request: open, made: issued(allowed), want: "Approved one"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObserved(t, p, row.request)
			if row.made != nil {
				row.made(&o, row.request)
			}
			got := newPlan(o)
			if described(got) != row.want {
				t.Fatalf("got %q, want %q; %+v", described(got), row.want, got.state)
			}
			said := got.state.Message
			if len(got.answers) > 0 {
				said = got.answers[0].message
			}
			if row.says != "shop" && !strings.Contains(said, row.says) || row.says == "shop" && !strings.Contains(said, "something else than was asked for") {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// What cert-manager is asked for is what was checked, and asking again asks for nothing new.
func TestCertManagerGetsTheBytesThatWereChecked(t *testing.T) {
	r := newRequest(t, "one")
	r.approved = true
	o := newObserved(t, newPolicy(t, nil), r)
	first, second := newPlan(o).create[0], newPlan(o).create[0]
	spec := first.Object["spec"].(map[string]any)
	if first.GetName() != second.GetName() || spec["duration"] != "2160h0m0s" || fmt.Sprint(spec["issuerRef"]) != "map[group:cert-manager.io kind:Issuer name:internal]" {
		t.Errorf("it asks for %+v", first.Object)
	}
	if owners := first.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != "delivery" {
		t.Errorf("its owners are %+v", owners)
	}
	names := map[string]bool{first.GetName(): true}
	for _, edit := range []func(*observation){
		func(o *observation) { o.requests[0].uid = "another" },
		func(o *observation) { o.requests[0].pem = append(slices.Clone(o.requests[0].pem), '\n') },
		func(o *observation) { o.clusterID = "another" },
		func(o *observation) { o.delivery.UID = "another" },
		func(o *observation) { o.requests[0].wanted.duration = time.Hour },
		func(o *observation) { o.policy.issuer.Name = "another" },
	} {
		other := newObserved(t, newPolicy(t, nil), r)
		edit(&other)
		names[newPlan(other).create[0].GetName()] = true
	}
	if len(names) != 7 {
		t.Errorf("seven different requests have %d names", len(names))
	}
}

// A cluster may show two requests with one UID, of which one is allowed.
func TestTheVerdictOfOneRequestIsNotThatOfAnother(t *testing.T) {
	good, evil := newRequest(t, "good"), newRequest(t, "evil")
	good.approved, evil.approved = true, true
	evil.uid, evil.usages = good.uid, []string{"client auth"}
	for _, requests := range [][]request{{good, evil}, {evil, good}} {
		if got := described(newPlan(newObserved(t, newPolicy(t, nil), requests...))); got != "Failed evil, ask for 1" {
			t.Errorf("got %q", got)
		}
	}
}

func TestAClusterIsBoundedInWhatGoesToTheIssuer(t *testing.T) {
	p := newPolicy(t, func(p *certificatesv1alpha1.RequestPolicy) { p.MaxPending, p.MaxPerHour = 3, 5 })
	var requests []request
	for i := range 12 {
		r := newRequest(t, fmt.Sprintf("r%02d", i))
		r.created = now.Add(time.Duration(i) * time.Second)
		requests = append(requests, r)
	}
	got := newPlan(newObserved(t, p, requests...))
	if described(got) != "Approved r00, Approved r01, Approved r02" || got.state.Reason != certificatesv1alpha1.ReasonRequestsLimited || got.state.Failed {
		t.Errorf("got %q; %+v", described(got), got.state)
	}
	// Four were issued within the hour, so one more goes.
	o := newObserved(t, p, requests...)
	for i := range 4 {
		name := fmt.Sprintf("before-%d", i)
		o.made[name] = certificateRequest{name: name, created: now.Add(-time.Duration(10*i+5) * time.Minute)}
	}
	if got := newPlan(o); described(got) != "Approved r00" || !got.again.Equal(now.Add(25*time.Minute)) || !strings.Contains(got.state.Message, "5 of at most 5") {
		t.Errorf("got %q at %s; %+v", described(got), got.again, got.state)
	}
}

func TestManyAnswersAreWrittenAFewAtATime(t *testing.T) {
	var requests []request
	for i := range 3 * maxWrites {
		r := newRequest(t, fmt.Sprintf("r%02d", i))
		r.usages = []string{"client auth"}
		requests = append(requests, r)
	}
	if got := newPlan(newObserved(t, newPolicy(t, nil), requests...)); len(got.answers) != maxWrites || !got.again.Equal(now) {
		t.Errorf("%d answers, and more at %s", len(got.answers), got.again)
	}
}

func TestCertificateRequestsGoWhenTheyCountNoMore(t *testing.T) {
	r := newRequest(t, "one")
	r.approved = true
	o := newObserved(t, newPolicy(t, nil), r)
	used := o.makes(r, 3*time.Hour, statusOf(nil, nil, condition("Ready", "False", "Pending")))
	for name, age := range map[string]time.Duration{"recent": 59 * time.Minute, "old": time.Hour, "oldest": 26 * time.Hour} {
		o.made[name] = certificateRequest{name: name, created: now.Add(-age)}
	}
	if got := newPlan(o); !slices.Equal(got.remove, []string{"old", "oldest"}) || !got.again.Equal(now.Add(time.Minute)) {
		t.Errorf("%v go, and the next at %s", got.remove, got.again)
	}
	o.incomplete = true // Somebody may wait for it who is not seen.
	if got := newPlan(o); !slices.Equal(got.remove, []string{"oldest"}) {
		t.Errorf("%v go", got.remove)
	}
	o.delivery = nil
	if got := newPlan(o); len(got.remove) != 4 || !slices.Contains(got.remove, used) || len(got.answers) > 0 {
		t.Errorf("of a delivery that is gone, %v go", got.remove)
	}
}

func TestACertificateRequestOfSomebodyElseIsTold(t *testing.T) {
	r := newRequest(t, "one")
	r.approved = true
	o := newObserved(t, newPolicy(t, nil), r)
	name := o.makes(r, time.Minute, signed(t, issuancetest.Root(t, "root"), r, allowed))
	o.made[name].object.Object["spec"].(map[string]any)["isCA"] = true
	if got := newPlan(o); described(got) != "" || !got.state.Failed || !strings.Contains(got.state.Message, name) {
		t.Errorf("got %q; %+v", described(got), got.state)
	}
}

func TestWhatIsToldOfRequests(t *testing.T) {
	refused := request{name: "refused", uid: "1", answer: answerDenied, message: "first", answered: now.Add(-time.Hour)}
	failed := request{name: "failed", uid: "2", answer: answerFailed, message: "last", answered: now}
	issued := request{name: "issued", uid: "3", answer: answerIssued}
	got := newPlan(newObserved(t, newPolicy(t, nil), failed, refused, issued, newRequest(t, "open"))).state
	want := certificatesv1alpha1.RequestSummary{Pending: 1, Issued: 1, Denied: 2, LastDenial: &certificatesv1alpha1.RequestDenial{Name: "failed", Message: "last"}}
	if !sameSummary(*got.Summary, want) || got.Status != metav1.ConditionTrue || got.Reason != certificatesv1alpha1.ReasonServed || !got.IsKnown(3) || got.IsKnown(4) {
		t.Errorf("got %+v %+v", got, got.Summary)
	}
}

func TestNothingIsAnsweredInTrouble(t *testing.T) {
	o := newObserved(t, newPolicy(t, nil), newRequest(t, "one"))
	o.trouble = &trouble{reason: "Suspended", message: "suspended", again: now.Add(time.Hour), usable: true}
	if got := newPlan(o); described(got) != "" || got.state.Reason != "Suspended" || got.state.Failed || !got.again.Equal(now.Add(time.Hour)) {
		t.Errorf("got %q; %+v", described(got), got.state)
	}
	o.wait = true
	if got := newPlan(o); described(got) != "" || got.state.Status != "" {
		t.Errorf("got %q; %+v", described(got), got.state)
	}
}

func TestAnAnswerIsAddedToTheConditions(t *testing.T) {
	one := answer{condition: certificatesv1.CertificateDenied, reason: "r", message: "m"}
	if got := one.conditionPatch(now); got["path"] != "/status/conditions" {
		t.Errorf("the first one goes to %s", got["path"])
	}
	one.conditions = true
	if got := one.conditionPatch(now); got["path"] != "/status/conditions/-" {
		t.Errorf("another one goes to %s", got["path"])
	}
}
