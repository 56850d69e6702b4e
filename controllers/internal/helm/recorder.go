package helm

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// Recorder keeps the records of one release up to date, as what is rendered from its inputs comes into the cluster.
type Recorder struct {
	*Store
	// History of the release, with the records that were written since.
	History History
	// Inputs is the hash of what the release is rendered from.
	Inputs string
	// Rendered is the record apart from what only the course of an operation tells, as JSON.
	Rendered json.RawMessage
	Now      time.Time

	// before is the record that was installed when the operation began; read when it is needed.
	before *release.Release
}

// Course is what a record tells of an operation.
type Course struct {
	Status      common.Status
	Description string
	// RollbackTo is the version that is gone back to; zero for none.
	RollbackTo int
	// Runs of hooks, the latest of one hook last.
	Runs []Run
}

// Run is one run of a hook.
type Run struct {
	Hook HookID
	release.HookExecution
}

// HookID tells one hook of a chart from another.
type HookID struct{ Path, Kind, Name string }

func idOf(hook *release.Hook) HookID { return HookID{hook.Path, hook.Kind, hook.Name} }

// goesOn is whether the latest record is of the same inputs, so that it is written again.
func (r *Recorder) goesOn() bool {
	latest := r.History.Latest()
	return latest.Inputs == r.Inputs && latest.Status != common.StatusSuperseded
}

// Write writes a draft. It returns the metadata of its Secret.
func (r *Recorder) Write(draft *release.Release) (written *metav1.ObjectMeta, err error) {
	entry := Entry{Version: draft.Version, Status: draft.Info.Status, Inputs: r.Inputs}
	if r.goesOn() {
		written, err = r.Update(r.History.Latest(), draft, r.Inputs)
	} else {
		written, err = r.Create(draft, r.Inputs)
	}
	if err != nil {
		return nil, err
	}
	entry.UID = written.UID
	if r.History.Latest().Version == entry.Version {
		r.History[0] = entry
	} else {
		r.History = append(History{entry}, r.History...)
	}
	return written, nil
}

// SettleOthers marks the records that another one took over from, now that this one is deployed, and removes old ones.
func (r *Recorder) SettleOthers() error {
	version := r.History.Latest().Version
	for _, entry := range r.History.Unsettled(version) {
		if err := r.Settle(entry); err != nil {
			return err
		}
	}
	for _, entry := range r.History.Outdated(version) {
		if err := r.Delete(entry); err != nil {
			return err
		}
	}
	return nil
}

// Purge removes all records; ours last, since they tell that the release is ours to end.
func (r *Recorder) Purge() error {
	if err := r.Confirm(); err != nil {
		return err
	}
	for _, ours := range []bool{false, true} {
		for _, entry := range r.History {
			if entry.IsOurs() != ours {
				continue
			}
			if err := r.Delete(entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// Objects are those that some records declare, as far as they can be told.
func (r *Recorder) Objects(entries []Entry) ([]objects.Ref, error) {
	var refs []objects.Ref
	for _, entry := range entries {
		record, err := r.Read(entry.Version)
		if err != nil {
			return nil, err
		}
		if record != nil {
			refs = append(refs, Objects(record.Manifest)...)
		}
	}
	return refs, nil
}

// Draft makes the record of what the release is made of now, and of the course of the operation: that of the latest version
// again, if it is of the same inputs, or of a new one.
func (r *Recorder) Draft(course Course) (*release.Release, error) {
	record := &release.Release{}
	if err := json.Unmarshal(r.Rendered, record); err != nil {
		return nil, fmt.Errorf("record of Helm release %s: %w", r.release, err)
	}
	if record.Info == nil {
		record.Info = &release.Info{}
	}
	if err := r.readBefore(); err != nil {
		return nil, err
	}
	record.Version = r.History.Latest().Version + 1
	if r.goesOn() {
		record.Version--
	}
	record.Info.Status, record.Info.Description = course.Status, course.Description
	record.Info.FirstDeployed, record.Info.LastDeployed = r.Now, r.Now
	if r.before != nil && !r.before.Info.FirstDeployed.IsZero() {
		record.Info.FirstDeployed = r.before.Info.FirstDeployed
	}
	if err := r.keepCourse(record, course.RollbackTo); err != nil {
		return nil, err
	}
	// Others than Helm own the fields of the objects: a person's upgrade that applies on the server's side
	// would meet conflicts wherever it changes something.
	record.ApplyMethod = string(release.ApplyMethodClientSideApply)
	setLastRuns(record.Hooks, course.Runs)
	return record, nil
}

// readBefore reads the record that is installed, which knows when the release was deployed first.
func (r *Recorder) readBefore() error {
	installed := r.History.Installed()
	if r.before != nil || installed.Version == 0 {
		return nil
	}
	var err error
	r.before, err = r.Read(installed.Version)
	return err
}

// keepCourse takes over what is known of hooks that have run: before in the same deployment, or in the
// one that a rollback goes back to.
func (r *Recorder) keepCourse(record *release.Release, rollbackTo int) error {
	if r.before != nil && r.before.Version == record.Version {
		record.Info.LastDeployed = r.before.Info.LastDeployed
		keepLastRuns(record.Hooks, r.before.Hooks)
		return nil
	}
	if rollbackTo == 0 {
		return nil
	}
	back, err := r.Read(rollbackTo)
	if err == nil && back != nil {
		keepLastRuns(record.Hooks, back.Hooks)
	}
	return err
}

func keepLastRuns(hooks, before []*release.Hook) {
	for _, one := range hooks {
		for _, old := range before {
			if idOf(one) == idOf(old) {
				one.LastRun, one.DeletePolicies = old.LastRun, old.DeletePolicies
			}
		}
	}
}

// setLastRuns tells of each hook in a record how its last run came out.
func setLastRuns(hooks []*release.Hook, runs []Run) {
	for _, run := range runs {
		for _, one := range hooks {
			if idOf(one) != run.Hook {
				continue
			}
			one.LastRun = run.HookExecution
			if len(one.DeletePolicies) == 0 {
				// Helm writes its default into the record when a hook runs.
				one.DeletePolicies = []release.HookDeletePolicy{release.HookBeforeHookCreation}
			}
		}
	}
}
