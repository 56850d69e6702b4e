package orphanrecord

import (
	"sync"
	"time"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
)

const (
	// An object that is being deleted, or whose deletion failed, is looked at again after a second, then two, four,
	// up to five minutes.
	retryFirst = time.Second
	retryLast  = 5 * time.Minute
	// retryLeft is for what stays for a reason, which only somebody in that cluster can remove. To find out whether a
	// namespace is empty takes a request for each kind there is.
	retryLeft = 30 * time.Minute
)

// memory is how often what was tried, by namespace. After a restart everything is tried at once.
type memory struct {
	mu          sync.Mutex
	byNamespace map[string]tries
}

// tries of the objects of a namespace's records. A namespace is in one worker at a time.
type tries map[itemKey]try

// try is how the last one came out.
type try struct {
	outcome outcome
	// sent: its deletion was asked for.
	sent bool
	// count of tries that changed nothing, one after the other.
	count int
	next  time.Time
}

// of returns the tries of what is in the records, and forgets all others.
func (m *memory) of(namespace string, records []tenancyv1alpha1.OrphanRecord) tries {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byNamespace == nil {
		m.byNamespace = map[string]tries{}
	}
	known, kept := m.byNamespace[namespace], tries{}
	for i := range records {
		for _, object := range records[i].Spec.Objects {
			key := keyOf(&records[i], object)
			if one, ok := known[key]; ok {
				kept[key] = one
			}
		}
	}
	delete(m.byNamespace, namespace)
	if len(records) > 0 {
		m.byNamespace[namespace] = kept
	}
	return kept
}

func (t tries) due(key itemKey) time.Time { return t[key].next }

// isLeft: nothing more will be done about it soon, so that nothing needs to wait for it.
func (t tries) isLeft(key itemKey) bool { return t[key].outcome == left }

// allLeft: nothing more will be done about any object of a record soon.
func (t tries) allLeft(record *tenancyv1alpha1.OrphanRecord) bool {
	for _, object := range record.Spec.Objects {
		if isSweepable(object) && !t.isLeft(keyOf(record, object)) {
			return false
		}
	}
	return true
}

// after takes results in, and returns when the next of them is due.
func (t tries) after(now time.Time, results []result) time.Time {
	var next time.Time
	for i := range results {
		one := &results[i]
		before := t[one.itemKey]
		one.sent = one.sent || before.sent
		if one.outcome == gone || one.outcome == taken {
			delete(t, one.itemKey)
			next = times.Earliest(next, now) // What waited for it may go.
			continue
		}
		made := try{outcome: one.outcome, sent: one.sent, count: before.count + 1, next: now.Add(retryLeft)}
		if one.outcome != before.outcome {
			made.count = 1
		}
		if one.outcome != left {
			made.next = now.Add(min(retryFirst<<min(made.count-1, 20), retryLast))
		}
		t[one.itemKey] = made
		next = times.Earliest(next, made.next)
	}
	return next
}
