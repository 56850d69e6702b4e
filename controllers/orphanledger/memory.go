package orphanledger

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/earliest"
	"github.com/daytwo-dev/daytwo/controllers/internal/orphans"
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
	// told is why the sweep of a cluster waits, as it was told last.
	told map[types.NamespacedName]string
}

// tries of the objects of one ledger. A namespace is in one worker at a time.
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

// of returns the tries of what is in the ledger, and forgets all others.
func (m *memory) of(namespace string, content orphans.Content) tries {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byNamespace == nil {
		m.byNamespace = map[string]tries{}
	}
	known, kept := m.byNamespace[namespace], tries{}
	for _, entry := range content.Entries {
		for _, object := range entry.Objects {
			key := itemKey{entry: entry.Key(), id: object.ID, uid: string(object.UID)}
			if one, ok := known[key]; ok {
				kept[key] = one
			}
		}
	}
	delete(m.byNamespace, namespace)
	if len(content.Entries) > 0 {
		m.byNamespace[namespace] = kept
		return kept
	}
	maps.DeleteFunc(m.told, func(cluster types.NamespacedName, _ string) bool { return cluster.Namespace == namespace })
	return kept
}

// isNews: it was not told of the cluster before. Nothing is no news, and lets it be told again.
func (m *memory) isNews(cluster types.NamespacedName, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told == nil {
		m.told = map[types.NamespacedName]string{}
	}
	before := m.told[cluster]
	m.told[cluster] = text
	if text == "" {
		delete(m.told, cluster)
	}
	return text != "" && text != before
}

func (t tries) due(key itemKey) time.Time { return t[key].next }

// isLeft: nothing more will be done about it soon, so that nothing needs to wait for it.
func (t tries) isLeft(key itemKey) bool { return t[key].outcome == left }

// after takes results in, and returns when the next of them is due.
func (t tries) after(now time.Time, results []result) time.Time {
	var next time.Time
	for i := range results {
		one := &results[i]
		before := t[one.itemKey]
		one.sent = one.sent || before.sent
		if one.outcome == gone || one.outcome == taken {
			delete(t, one.itemKey)
			next = earliest.Of(next, now) // What waited for it may go.
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
		next = earliest.Of(next, made.next)
	}
	return next
}
