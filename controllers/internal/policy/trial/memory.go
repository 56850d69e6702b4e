package trial

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/perobject"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const (
	// patience is how long a trial may wait for its turn and last.
	patience = 10 * time.Minute
	// maxUndecided is how often a trial may end without a result. After that the content passes.
	maxUndecided = 3
)

// Memory is of what was tried. The zero Memory is not usable; New makes one. It is safe for concurrent use by one worker for each
// policy. After a restart of the manager content is tried again, unless a target has it already.
type Memory struct {
	tasks    *background.Tasks[*Refused]
	policies perobject.Memory[known]
}

// known is what is known of a revision of a policy.
type known struct {
	id     background.ID
	passed bool
	// seen are the clusters for which it is refused or was not chosen to be tried, with their parameters.
	seen map[rollout.ClusterKey]string
	// trying are those that are to be seen when the trial that is under way ends.
	trying    map[rollout.ClusterKey]string
	refused   *Refused
	undecided int
}

// New returns an empty Memory.
func New() *Memory {
	return &Memory{tasks: background.New[*Refused](func(error) bool { return false })}
}

// AddTo has the controller of the policies woken by what comes of trials, and ends these with the manager.
func (m *Memory) AddTo(mgr manager.Manager, b *builder.Builder) error { return m.tasks.AddTo(mgr, b) }

// Verdict is what is known of a policy's content. The zero Verdict lets it pass.
type Verdict struct {
	// Pending: it is not known yet whether the content can be used for any cluster.
	Pending bool
	// Start has to be tried now: a trial of these clusters.
	Start []rollout.ClusterKey
	// Again is when the next trial may start; zero for now, or if none has to.
	Again time.Time
	// Refused: it can be used for none of those that were tried; nil otherwise.
	Refused *Refused

	id     background.ID
	trying map[rollout.ClusterKey]string
}

// Of is the verdict on a revision of a policy for its clusters. Those that are not connected do not count. What a target has already
// passes.
func (m *Memory) Of(policy client.Object, revision string, clusters []rollout.Cluster, targets []rollout.Target, now time.Time) Verdict {
	id := background.IDOf(policy, revision)
	one := m.policies.Of(id.NamespacedName)
	if one.id != id {
		*one = known{id: id}
	}
	if !one.passed {
		one.passed = hasRevision(targets, revision)
	}
	if !one.passed && one.trying != nil {
		progress := m.tasks.Progress(id)
		if progress.Running {
			return Verdict{Pending: true}
		}
		one.note(progress)
		if progress.Err != nil && !one.passed && now.Before(progress.Again) {
			return Verdict{Pending: true, Again: progress.Again}
		}
	}
	if one.passed {
		one.seen, one.trying, one.refused = nil, nil, nil
		return Verdict{}
	}
	return one.next(clusters)
}

// note remembers what came of a trial.
func (k *known) note(progress background.Progress[*Refused]) {
	switch {
	case progress.Err != nil:
		k.undecided++
		k.passed = k.undecided >= maxUndecided
	case progress.Result == nil:
		k.passed = true
	default:
		k.undecided, k.seen, k.refused = 0, k.trying, progress.Result
	}
	k.trying = nil
}

// next is what has to be tried, if there is a cluster that was not seen as it is now.
func (k *known) next(clusters []rollout.Cluster) Verdict {
	verdict := Verdict{id: k.id, trying: map[rollout.ClusterKey]string{}}
	var unseen []rollout.ClusterKey
	for i := range clusters {
		cluster := &clusters[i]
		if !cluster.Connected || cluster.Deleting {
			continue
		}
		verdict.trying[cluster.ClusterKey] = cluster.Parameters
		if parameters, seen := k.seen[cluster.ClusterKey]; !seen || parameters != cluster.Parameters {
			unseen = append(unseen, cluster.ClusterKey)
		}
	}
	switch {
	case len(unseen) > 0:
		verdict.Pending, verdict.Start = true, Choose(unseen)
	case len(verdict.trying) > 0:
		verdict.Refused = k.refused
	}
	return verdict
}

// Start begins the trial that a verdict asks for. The content is stored.
func (m *Memory) Start(verdict Verdict, now time.Time, prepare func(ctx context.Context) (Try, error)) {
	one := m.policies.Of(verdict.id.NamespacedName)
	if one.id != verdict.id || one.trying != nil {
		return
	}
	one.trying = verdict.trying
	m.tasks.Start(verdict.id, now.Add(patience), func(ctx context.Context) (*Refused, error) {
		try, err := prepare(ctx)
		if err != nil {
			return nil, err
		}
		return Run(ctx, verdict.Start, try)
	})
}

// Forget a policy.
func (m *Memory) Forget(policy types.NamespacedName) {
	m.policies.Forget(policy)
	m.tasks.Forget(policy)
}

func hasRevision(targets []rollout.Target, revision string) bool {
	for i := range targets {
		if targets[i].Revision == revision && !targets[i].Deleting {
			return true
		}
	}
	return false
}
