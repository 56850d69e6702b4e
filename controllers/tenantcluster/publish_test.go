package tenantcluster

import (
	"fmt"
	"testing"
	"time"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/postponed"
	"github.com/daytwo-dev/daytwo/controllers/internal/throttle"
)

// published is a TenantCluster whose status is written as it comes due, in memory.
type published struct {
	observation

	updates postponed.Updates[*tenancyv1alpha1.TenantCluster]
	writes  int
}

// at reports at a moment, and returns whether that is written at once.
func (p *published) at(moment time.Time) bool {
	p.now = moment
	reported := reported(p.observation)
	if p.updates.Begin(); !reported.changed {
		return true
	}
	change := changeOf(p.cluster, reported.status)
	if p.updates.PutOff(p.cluster, change, moment) > 0 {
		return false
	}
	p.updates.Wrote(change, throttle.Health, moment)
	p.cluster.Status = reported.status
	p.writes++
	return true
}

// A customer may have their API server come and go as often as they like, each time with other words.
func TestAConnectionThatFlapsIsWrittenSeldom(t *testing.T) {
	p := &published{observation: settled()}
	p.at(now)
	p.writes = 0
	const seconds = 120
	for second := range seconds {
		moment := now.Add(time.Duration(second) * time.Second)
		p.link = &fleet.State{Phase: fleet.Connected, Identity: "blue", Version: fmt.Sprintf("v1.%d.0", second), LastSeen: moment}
		p.at(moment)
		p.link = &fleet.State{Phase: fleet.Unreachable, Message: fmt.Sprintf("%d times no answer in time", second), LastSeen: moment}
		p.at(moment.Add(time.Second / 2))
	}
	// The first loss and the first return, and then after 0, 10, 30, 70 and 130 seconds.
	if most := 2 + 5; p.writes > most {
		t.Errorf("%d changes are %d writes, want %d at most", 2*seconds, p.writes, most)
	}
}

func TestWhatPeopleAskForIsToldAtOnceWhileAConnectionFlaps(t *testing.T) {
	for name, ask := range map[string]func(*published){
		"another spec": func(p *published) { p.cluster.Generation++ },
		"a try": func(p *published) {
			p.cluster.Annotations = map[string]string{metav1alpha1.AnnotationRequestedAt: "now"}
		},
		"the end of the wait": func(p *published) { p.now = p.now.Add(throttle.Health.First) },
	} {
		p := &published{observation: settled()}
		p.flapUntilPutOff(t)
		ask(p)
		if !p.at(p.now) {
			t.Errorf("%s is told later", name)
		}
	}
}

// flapUntilPutOff has the connection come and go until that is not written any more.
func (p *published) flapUntilPutOff(t *testing.T) {
	t.Helper()
	answers, silent := p.link, &fleet.State{Phase: fleet.Unreachable, Message: "no answer in time"}
	for range 10 {
		for _, p.link = range []*fleet.State{silent, answers} {
			if !p.at(now) {
				return
			}
		}
	}
	t.Fatal("each change is written")
}
