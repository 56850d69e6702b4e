package controllers

import (
	"net/http"
	"path"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"helm.sh/helm/v4/pkg/action"
	helmcommon "helm.sh/helm/v4/pkg/release/common"

	"github.com/daytwo-dev/daytwo/e2e/helmclient"
)

// TestKilledWhileItTakesOverAReleaseItEndsWhereAnUndisturbedRunEnds gives the manager releases that somebody
// made with Helm: one that is deployed, and those that a helm which was killed left in the middle of an
// installation and of an upgrade. It has another version of the chart to install in their place. Most of its writes are
// those of an upgrade, which another test kills after each, so a part of them does here.
func TestKilledWhileItTakesOverAReleaseItEndsWhereAnUndisturbedRunEnds(t *testing.T) {
	t.Parallel()
	w := newChartEnv(t)
	w.killInEach([]chartPhase{
		{name: "adoption", before: []chartStep{(*chartEnv).installByHand}, act: (*chartEnv).adoptNewer},
		{name: "repair-installation", before: []chartStep{(*chartEnv).installByHandAndDie}, act: (*chartEnv).adoptNewer, kills: inWorkOnRelease, every: 3},
		{
			name: "repair-upgrade", before: []chartStep{(*chartEnv).installByHand, (*chartEnv).upgradeByHandAndDie},
			act: (*chartEnv).adoptOlder, kills: inWorkOnRelease, every: 3,
		},
	})
}

// inWorkOnRelease is any write in the cluster, or to the status of the target. What comes before, the policy's
// and its revision's, is the same in adoption.
func inWorkOnRelease(request *http.Request) bool {
	isPolicy := strings.Contains(request.URL.Path, "/saasaddons/") || request.Method == http.MethodPost && strings.Contains(request.URL.Path, "/namespaces/default/")
	return anyWrite(request) && !isPolicy
}

func (w *chartEnv) adoptNewer(name string) { w.adopt(name, newerChart) }
func (w *chartEnv) adoptOlder(name string) { w.adopt(name, olderChart) }

func (w *chartEnv) adopt(name, version string) {
	w.t.Helper()
	addon := w.addon(name, version)
	addon.Spec.Adopt = true
	w.create(addon)
}

// installByHand does what a person does with helm install --no-hooks, which is quicker.
func (w *chartEnv) installByHand(name string) {
	w.t.Helper()
	if err := w.helmInstall(w.workloadConfig, name, func(install *action.Install) { install.DisableHooks = true }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *chartEnv) helmInstall(config *rest.Config, name string, options ...func(*action.Install)) error {
	w.t.Helper()
	options = append(options, func(install *action.Install) { install.CreateNamespace = true })
	_, err := w.helm(config).Install(w.t.Context(), releaseOf(name), w.archives[olderChart], nil, options...)
	return err
}

// installByHandAndDie ends helm when it has made the hook that comes last.
func (w *chartEnv) installByHandAndDie(name string) {
	w.t.Helper()
	w.killHelm(name, name+"-migrate", helmcommon.StatusPendingInstall, func(config *rest.Config) error { return w.helmInstall(config, name) })
}

// upgradeByHandAndDie ends helm when it has made an object that the version before does not have.
func (w *chartEnv) upgradeByHandAndDie(name string) {
	w.t.Helper()
	onlyInNewer := name + "-only-in-" + strings.ReplaceAll(newerChart, ".", "-")
	w.killHelm(name, onlyInNewer, helmcommon.StatusPendingUpgrade, func(config *rest.Config) error {
		_, err := w.helm(config).Upgrade(w.t.Context(), releaseOf(name), w.archives[newerChart], nil)
		return err
	})
}

// killHelm runs helm until it applies an object: that is done, and helm does not live to hear of it. It checks
// that the release is left as helm leaves one then.
func (w *chartEnv) killHelm(name, last string, left helmcommon.Status, run func(*rest.Config) error) {
	w.t.Helper()
	deadly := newFailpoint(func(request *http.Request) bool {
		return request.Method == http.MethodPatch && path.Base(request.URL.Path) == last
	})
	deadly.arm(1)
	if err := run(newProxy(w.t, w.workloadConfig, deadly).config()); err == nil {
		w.t.Fatal("helm survived")
	}
	found, err := w.helm(w.workloadConfig).Status(releaseOf(name), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if found.Info.Status != left {
		w.t.Fatalf("helm left the release %s, not %s", found.Info.Status, left)
	}
}

func (w *chartEnv) helm(config *rest.Config) *helmclient.Client {
	w.t.Helper()
	made, err := helmclient.New(config, w.helmSettings)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func releaseOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: name, Name: name}
}
