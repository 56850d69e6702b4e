package issuing

import (
	"testing"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

var (
	pendingState = State{Reason: certificatesv1alpha1.ReasonIssuancePending, Message: "waiting"}
	failedState  = State{Reason: certificatesv1alpha1.ReasonIssuanceFailed, Message: "failed"}
)

func inCluster(name string) Key {
	return Key{Bundle: webKey.Bundle, Cluster: rollout.ClusterKey{Namespace: "acme", Name: name}}
}

func TestAWantedCertificateIsNewsOnce(t *testing.T) {
	s := &states{}
	if s.isWanted(webKey) {
		t.Error("nobody asked for it")
	}
	if !s.want(webKey, pendingState) || s.want(webKey, pendingState) || !s.isWanted(webKey) {
		t.Error("it is no news, or news for ever")
	}
	if !s.want(inCluster("staging"), State{}) {
		t.Error("that of another cluster is no news")
	}
	if got := len(s.wantedOf(webKey.Bundle)); got != 2 {
		t.Errorf("%d are wanted", got)
	}
}

func TestWhatIsToldOfACertificateIsNotForgottenWhereItIsWantedAgain(t *testing.T) {
	s := &states{}
	s.want(webKey, pendingState)
	s.set(webKey, failedState, true)
	s.want(webKey, pendingState)
	if got := s.of(webKey); got != failedState {
		t.Errorf("it is %+v", got)
	}
}

func TestPeopleAreToldOnceOfAnotherState(t *testing.T) {
	s := &states{}
	if s.set(webKey, failedState, true) {
		t.Error("a bundle that nobody knows has news")
	}
	s.want(webKey, pendingState)
	refusedAgain := failedState
	refusedAgain.refusedSource = "another"
	for i, step := range []struct {
		state State
		news  bool
	}{{pendingState, false}, {failedState, true}, {failedState, false}, {refusedAgain, false}, {State{}, true}, {State{}, false}} {
		if news := s.set(webKey, step.state, true); news != step.news {
			t.Errorf("step %d: news %v", i, news)
		}
	}
	if len(s.problems(webKey.Bundle, State.IsPending)) > 0 || !s.isWanted(webKey) {
		t.Error("what is issued is a problem, or wanted no more")
	}
	if s.set(webKey, State{}, false); s.isWanted(webKey) {
		t.Error("what is not needed is wanted")
	}
}

func TestProblemsThatNeedAPersonComeFirst(t *testing.T) {
	s := &states{}
	for name, state := range map[string]State{"a": pendingState, "b": failedState, "c": pendingState, "d": failedState, "e": {}} {
		s.want(inCluster(name), state)
	}
	other := inCluster("a")
	other.Bundle.Name = "other"
	s.want(other, failedState)
	order := ""
	for _, problem := range s.problems(webKey.Bundle, State.IsPending) {
		order += problem.Cluster.Name
	}
	if order != "bdac" {
		t.Errorf("the order is %s", order)
	}
	if got := len(s.allNotIssued()); got != 5 {
		t.Errorf("%d are not issued in all", got)
	}
	s.forget(webKey.Bundle)
	if len(s.problems(webKey.Bundle, State.IsPending)) > 0 || len(s.wantedOf(webKey.Bundle)) > 0 || len(s.allNotIssued()) != 1 {
		t.Error("a bundle that is gone is remembered, or another one is not")
	}
}
