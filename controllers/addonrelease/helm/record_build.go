package helm

import (
	"encoding/json"
	"fmt"

	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
)

// build makes a record of the rendering and of the course of the operation.
func (r *recorder) build(operation *addonsv1alpha1.HelmOperation, version int) (*release.Release, error) {
	record := &release.Release{}
	if err := json.Unmarshal(r.o.Chart.Record, record); err != nil {
		return nil, fmt.Errorf("record of Helm release %s: %w", r.o.Chart.Release, err)
	}
	if record.Info == nil {
		record.Info = &release.Info{}
	}
	if err := r.readBefore(); err != nil {
		return nil, err
	}
	record.Version = version
	record.Info.FirstDeployed, record.Info.LastDeployed = r.o.Now, r.o.Now
	if r.before != nil && !r.before.Info.FirstDeployed.IsZero() {
		record.Info.FirstDeployed = r.before.Info.FirstDeployed
	}
	if err := r.keepCourse(record, operation); err != nil {
		return nil, err
	}
	// Others than Helm own the fields of the objects: a person's upgrade that applies on the server's side
	// would meet conflicts wherever it changes something.
	record.ApplyMethod = string(release.ApplyMethodClientSideApply)
	if operation != nil {
		setLastRuns(record.Hooks, operation.Hooks, r.o.Chart.Hooks)
	}
	return record, nil
}

// readBefore reads the record that is installed, which knows when the release was deployed first.
func (r *recorder) readBefore() error {
	installed := r.o.History.Installed()
	if r.before != nil || installed.Version == 0 {
		return nil
	}
	var err error
	r.before, err = r.store.Read(installed.Version)
	return err
}

// keepCourse takes over what is known of hooks that have run: before in the same deployment, or in the
// one that a rollback goes back to.
func (r *recorder) keepCourse(record *release.Release, operation *addonsv1alpha1.HelmOperation) error {
	if r.before != nil && r.before.Version == record.Version {
		record.Info.LastDeployed = r.before.Info.LastDeployed
		keepLastRuns(record.Hooks, r.before.Hooks)
		return nil
	}
	if operation == nil || operation.Kind != addonsv1alpha1.HelmRollback {
		return nil
	}
	back, err := r.store.Read(int(operation.RollbackTo))
	if err == nil && back != nil {
		keepLastRuns(record.Hooks, back.Hooks)
	}
	return err
}

func keepLastRuns(hooks, before []*release.Hook) {
	for _, one := range hooks {
		for _, old := range before {
			if hookIdentity(one.Path, one.Kind, one.Name) == hookIdentity(old.Path, old.Kind, old.Name) {
				one.LastRun, one.DeletePolicies = old.LastRun, old.DeletePolicies
			}
		}
	}
}

// setLastRuns tells of each hook in a record how its last run came out.
func setLastRuns(hooks []*release.Hook, runs []addonsv1alpha1.HookRun, declared []Hook) {
	paths := map[string]string{}
	for _, one := range declared {
		paths[one.ID()] = hookIdentity(one.path, one.Kind, one.Name)
	}
	for _, run := range runs {
		for _, one := range hooks {
			if hookIdentity(one.Path, one.Kind, one.Name) != paths[run.Object] {
				continue
			}
			one.LastRun = release.HookExecution{StartedAt: run.StartedAt.Time, Phase: release.HookPhase(run.Phase)}
			if len(one.DeletePolicies) == 0 {
				// Helm writes its default into the record when a hook runs.
				one.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
			}
			if run.CompletedAt != nil {
				one.LastRun.CompletedAt = run.CompletedAt.Time
			}
		}
	}
}

func hookIdentity(path, kind, name string) string { return path + "\n" + kind + "\n" + name }
