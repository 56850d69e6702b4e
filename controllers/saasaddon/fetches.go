package saasaddon

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
)

// Backoff of fetches that failed.
const (
	fetchBackoffFirst = 2 * time.Second
	fetchBackoffLast  = 5 * time.Minute
)

// fetchMemory remembers which fetches failed, so that not every event makes for another one.
type fetchMemory struct {
	mutex sync.Mutex
	known map[types.NamespacedName]*fetchAttempts
}

type fetchAttempts struct {
	// source that was asked for.
	source   string
	failures int
	stall    *policy.Stall
	// due is when to try again; zero for never.
	due time.Time
}

// attempt returns a token for the next try, or the stall that the last one had if it is too early.
func (m *fetchMemory) attempt(addon types.NamespacedName, source string, now time.Time) (token string, failed *policy.Stall) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known == nil {
		m.known = map[types.NamespacedName]*fetchAttempts{}
	}
	attempts := m.known[addon]
	if attempts == nil || attempts.source != source {
		attempts = &fetchAttempts{source: source}
		m.known[addon] = attempts
	}
	if attempts.stall != nil && (attempts.due.IsZero() || now.Before(attempts.due)) {
		return "", attempts.stall
	}
	return fmt.Sprint(source, attempts.failures), nil
}

// failed remembers a failure, and says when it is tried again.
func (m *fetchMemory) failed(addon types.NamespacedName, now time.Time, finally finality, found *policy.Stall) *policy.Stall {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	attempts := m.known[addon]
	if attempts == nil {
		return found
	}
	attempts.stall, attempts.due = found, time.Time{}
	if !finally {
		wait := min(fetchBackoffFirst<<min(attempts.failures, 10), fetchBackoffLast)
		attempts.due = now.Add(wait)
		found.Retry = attempts.due
	}
	attempts.failures++
	return found
}

func (m *fetchMemory) forget(addon types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, addon)
}
