package apply

import (
	"maps"
	"time"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Memory is what is known of a set of objects beyond what is stored of it. It can be found out anew. The zero
// value knows nothing.
type Memory struct {
	contentions map[objects.Key]Contention
	// deletions are how far the removal of objects has come.
	deletions map[objects.Key]Deletion
	// refused are the objects that the API server would not take as they are.
	refused map[objects.Key]Refusal
	// lastWrite is when an object was applied last.
	lastWrite time.Time
	// postponed are the objects that the last slice did not come to, and in which order.
	postponed map[objects.Key]int
}

// Recall takes what is remembered into an observation.
func (o *Observation) Recall(known Memory) {
	o.Contentions, o.Deletions, o.Refused, o.lastWrite = known.contentions, known.deletions, known.refused, known.lastWrite
	o.postponed = known.postponed
}

// Take keeps what the next plan for the same objects needs to know.
func (m *Memory) Take(o Observation, done Result, corrections []Written) {
	m.lastWrite = o.lastWritten(done)
	m.postponed = make(map[objects.Key]int, len(done.Postponed))
	for at, key := range done.Postponed {
		m.postponed[key] = at
	}
	if m.deletions == nil {
		m.deletions, m.refused = map[objects.Key]Deletion{}, map[objects.Key]Refusal{}
	}
	if m.contentions = maps.Clone(o.Contentions); m.contentions == nil {
		m.contentions = map[objects.Key]Contention{}
	}
	for _, w := range corrections {
		m.contentions[w.Key()] = m.contentions[w.Key()].After(w.At, w.Actor.Manager)
	}
	for _, w := range done.Written {
		delete(m.refused, w.Key())
	}
	maps.Copy(m.refused, done.Refusals)
	for _, e := range done.Gone {
		delete(m.contentions, e.Key())
	}
	maps.DeleteFunc(m.deletions, func(key objects.Key, _ Deletion) bool {
		_, listed := done.Inventory[key]
		return !listed
	})
	maps.Copy(m.deletions, done.deletions)
}
