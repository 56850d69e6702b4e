package addonrelease

import (
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// helmPlan is what to do about a Helm release beside its objects. The zero plan is to do nothing.
type helmPlan struct {
	// operation that is under way; nil if there is none.
	operation *addonsv1alpha1.HelmOperation
	// before and after are the events of the hooks that run before the objects are applied, or removed,
	// and after that.
	before, after release.HookEvent
	// blocked is a hook that failed and is not due for another try.
	blocked *addonsv1alpha1.HookRun
	// record: the release's record is to say that it is deployed.
	record bool
	// strays: what is deployed is the record of another program, or one of ours that no inventory knows; what only that one
	// brought has to go.
	strays bool
	// purge removes the records.
	purge bool
	// tests is the token of a run of the test hooks that is to be made, or under way.
	tests string
}

// planHelm decides what a chart needs beside its objects. It is pure.
func planHelm(o helmObservation) helmPlan {
	if o.chart == nil {
		return helmPlan{}
	}
	if o.deleted {
		return planUninstall(o)
	}
	if o.suspended {
		return helmPlan{}
	}
	h := helmPlan{record: !o.settled || revertsRecord(o), strays: o.history.HasStrays() || o.replaces()}
	if !o.settled {
		operation := operationFor(o)
		h.begin(o, operation)
		return h
	}
	h.tests = testsDue(o.tests, o.status)
	return h
}

// revertsRecord: somebody changed the record, and it is time to put it right. Corrections of the same record back off
// exponentially.
func revertsRecord(o helmObservation) bool {
	return o.recordDrifted && o.corrects && !o.recordReady.After(o.now)
}

// begin sets what an operation needs, and finds out whether it is held up by a hook that failed.
func (h *helmPlan) begin(o helmObservation, operation addonsv1alpha1.HelmOperation) {
	h.operation = &operation
	h.before, h.after = hookEvents(operation.Kind)
	for i, run := range operation.Hooks {
		if run.Phase != addonsv1alpha1.HookFailed || run.Event == string(release.HookTest) {
			continue
		}
		if due := run.CompletedAt.Add(apply.RetryStalled); due.After(o.now) && !o.requested {
			h.blocked = &operation.Hooks[i]
			return
		}
		// Another try is another run of all hooks: they cannot know how far the first one came.
		operation.Hooks = nil
		h.operation = &operation
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
func operationFor(o helmObservation) addonsv1alpha1.HelmOperation {
	if begun := begunFor(o, o.inputs); begun != nil {
		return *begun.DeepCopy()
	}
	operation := addonsv1alpha1.HelmOperation{
		Kind: addonsv1alpha1.HelmUpgrade,
		ID:   o.inputs + "-" + strconv.Itoa(o.history.Latest().Version+1),
	}
	if o.history.Installed().Version == 0 {
		operation.Kind = addonsv1alpha1.HelmInstall
	} else if back, ok := o.history.Find(o.inputs); ok {
		operation.Kind, operation.RollbackTo = addonsv1alpha1.HelmRollback, int32(back.Version)
	}
	return operation
}

// begunFor returns the operation in the status, if it has the given prefix of an ID.
func begunFor(o helmObservation, prefix string) *addonsv1alpha1.HelmOperation {
	status := o.status
	if status == nil || status.Operation == nil || !strings.HasPrefix(status.Operation.ID, prefix+"-") {
		return nil
	}
	return status.Operation
}

// planUninstall removes the records of a release that was installed, and runs the hooks around it.
func planUninstall(o helmObservation) helmPlan {
	if !o.history.HasOurs() {
		return helmPlan{}
	}
	operation := addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmUninstall, ID: "uninstall-" + o.inputs}
	if begun := begunFor(o, "uninstall"); begun != nil {
		operation = *begun.DeepCopy()
	}
	h := helmPlan{purge: true}
	if o.skipsDeleteHooks {
		// An operation of its own, so that a hook that still runs is deleted with the one that it belongs to.
		h.operation = &addonsv1alpha1.HelmOperation{Kind: addonsv1alpha1.HelmUninstall, ID: "uninstall-without-hooks-" + o.inputs}
		return h
	}
	h.begin(o, operation)
	return h
}

// testsDue is the token of the tests that are asked for and were not run, or not to their end.
func testsDue(token string, status *addonsv1alpha1.HelmRelease) string {
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
