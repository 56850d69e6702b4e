package helm

import (
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// Plan is what to do about a Helm release beside its objects. The zero plan is to do nothing.
type Plan struct {
	// Operation that is under way; nil if there is none.
	Operation *addonsv1alpha1.HelmOperation
	// Before and After are the events of the hooks that run before the objects are applied, or removed,
	// and after that.
	Before, After release.HookEvent
	// Blocked is a hook that failed and is not due for another try.
	Blocked *addonsv1alpha1.HookRun
	// Record: the release's record is to say that it is deployed.
	Record bool
	// Unlisted: what is deployed is the record of another program, or one of ours that no inventory knows; what only that one
	// brought has to go.
	Unlisted bool
	// Purge removes the records.
	Purge bool
	// Tests is the token of a run of the test hooks that is to be made, or under way.
	Tests string
}

// NewPlan decides what a chart needs beside its objects. It is pure.
func NewPlan(o Observation) Plan {
	if o.Chart == nil {
		return Plan{}
	}
	if o.Deleted {
		return planUninstall(o)
	}
	if o.Suspended {
		return Plan{}
	}
	h := Plan{Record: o.writesRecord(), Unlisted: o.History.HasUnlisted() || o.replaces()}
	if !o.Settled {
		h.begin(o, operationFor(o))
		return h
	}
	h.Tests = TestsDue(o.Tests, o.Status)
	return h
}

// revertsRecord: somebody changed the record, and it is time to put it right. Corrections of the same record back off
// exponentially.
func revertsRecord(o Observation) bool {
	return o.RecordDrifted && o.Corrects && !o.RecordReady.After(o.Now)
}

// begin sets what an operation needs, and finds out whether it is held up by a hook that failed.
func (h *Plan) begin(o Observation, operation addonsv1alpha1.HelmOperation) {
	h.Operation = &operation
	h.Before, h.After = hookEvents(operation.Kind)
	for i, run := range operation.Hooks {
		if run.Phase != addonsv1alpha1.HookFailed || run.Event == string(release.HookTest) {
			continue
		}
		if due := run.CompletedAt.Add(apply.RetryStalled); due.After(o.Now) && !o.Requested {
			h.Blocked = &operation.Hooks[i]
			return
		}
		// Another try is another run of all hooks: they cannot know how far the first one came.
		operation.Hooks = nil
		h.Operation = &operation
		return
	}
}

func hookEvents(kind addonsv1alpha1.HelmOperationKind) (before, after release.HookEvent) {
	switch kind {
	case addonsv1alpha1.HelmInstall:
		return release.HookPreInstall, release.HookPostInstall
	case addonsv1alpha1.HelmUpgrade:
		return release.HookPreUpgrade, release.HookPostUpgrade
	case addonsv1alpha1.HelmRollback:
		return release.HookPreRollback, release.HookPostRollback
	case addonsv1alpha1.HelmUninstall:
		return release.HookPreDelete, release.HookPostDelete
	}
	return release.HookTest, ""
}

// operationFor goes on with the operation that was begun for the same inputs, or begins one.
func operationFor(o Observation) addonsv1alpha1.HelmOperation {
	if begun := begunFor(o, o.Inputs); begun != nil {
		return *begun.DeepCopy()
	}
	operation := addonsv1alpha1.HelmOperation{
		Kind: addonsv1alpha1.HelmUpgrade,
		ID:   o.Inputs + "-" + strconv.Itoa(o.History.Latest().Version+1),
	}
	if o.History.Installed().Version == 0 {
		operation.Kind = addonsv1alpha1.HelmInstall
	} else if back, ok := o.History.Find(o.Inputs); ok {
		operation.Kind, operation.RollbackTo = addonsv1alpha1.HelmRollback, int32(back.Version)
	}
	return operation
}

// begunFor returns the operation in the status, if it has the given prefix of an ID.
func begunFor(o Observation, prefix string) *addonsv1alpha1.HelmOperation {
	status := o.Status
	if status == nil || status.Operation == nil || !strings.HasPrefix(status.Operation.ID, prefix+"-") {
		return nil
	}
	return status.Operation
}

// planUninstall removes the records of a release that was installed, and runs the hooks around it.
func planUninstall(o Observation) Plan {
	if !o.History.HasOurs() {
		return Plan{}
	}
	operation := addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmUninstall, ID: "uninstall-" + o.Inputs}
	if begun := begunFor(o, "uninstall"); begun != nil {
		operation = *begun.DeepCopy()
	}
	h := Plan{Purge: true}
	if o.SkipsDeleteHooks {
		// An operation of its own, so that a hook that still runs is deleted with the one that it belongs to.
		h.Operation = &addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmUninstall, ID: "uninstall-without-hooks-" + o.Inputs}
		return h
	}
	h.begin(o, operation)
	return h
}

// TestsDue is the token of the tests that are asked for and were not run, or not to their end.
func TestsDue(token string, status *addonsv1alpha1.HelmRelease) string {
	if token == "" || status == nil {
		return ""
	}
	if status.Tests != nil && status.Tests.Token == token && status.Tests.Phase != addonsv1alpha1.HookRunning {
		return ""
	}
	return token
}

// pendingStatus is what a record says while the hooks of an operation run.
func pendingStatus(kind addonsv1alpha1.HelmOperationKind) common.Status {
	switch kind {
	case addonsv1alpha1.HelmInstall:
		return common.StatusPendingInstall
	case addonsv1alpha1.HelmRollback:
		return common.StatusPendingRollback
	}
	return common.StatusPendingUpgrade
}
