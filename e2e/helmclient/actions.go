package helmclient

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	ri "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Install does what helm install does. The namespace has to be there, unless an option sets
// CreateNamespace. A release that failed is returned beside the error.
//
// Helm does not stop when ctx ends: the function returns, and the installation goes on. As long as it
// waits for hooks only, it does not wait for definitions in crds/ either, and may then know no kind for
// the chart's custom resources, above all with capabilities that are shared: see Waiting.
func (c *Client) Install(
	ctx context.Context, name types.NamespacedName, archive []byte, values map[string]any, options ...func(*action.Install),
) (*release.Release, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	chart, err := load(archive)
	if err != nil {
		return nil, fmt.Errorf("install %s: %w", name, err)
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace = name.Name, name.Namespace
	install.Timeout, install.WaitStrategy, install.WaitOptions = c.settings.Timeout, c.settings.WaitStrategy, c.waitOptions(ctx)
	install.DisableOpenAPIValidation = c.settings.DisableOpenAPIValidation
	for _, option := range options {
		option(install)
	}
	installed, err := install.RunWithContext(ctx, chart, copied(values))
	return result("install", name, installed, err)
}

// Waiting is helm install's flag --wait, for Install.
func Waiting(install *action.Install) { install.WaitStrategy = kube.StatusWatcherStrategy }

// Upgrade does what helm upgrade does, with the values of the revision before if none are given. A
// revision that failed is returned beside the error.
//
// Helm does not stop when ctx ends: the function returns, and the upgrade goes on.
func (c *Client) Upgrade(
	ctx context.Context, name types.NamespacedName, archive []byte, values map[string]any, options ...func(*action.Upgrade),
) (*release.Release, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	chart, err := load(archive)
	if err != nil {
		return nil, fmt.Errorf("upgrade %s: %w", name, err)
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.MaxHistory = name.Namespace, c.settings.MaxHistory
	upgrade.Timeout, upgrade.WaitStrategy, upgrade.WaitOptions = c.settings.Timeout, c.settings.WaitStrategy, c.waitOptions(ctx)
	upgrade.DisableOpenAPIValidation = c.settings.DisableOpenAPIValidation
	for _, option := range options {
		option(upgrade)
	}
	upgraded, err := upgrade.RunWithContext(ctx, name.Name, chart, copied(values))
	return result("upgrade", name, upgraded, err)
}

// Rollback does what helm rollback does. Revision 0 is the one before the latest.
func (c *Client) Rollback(ctx context.Context, name types.NamespacedName, revision int, options ...func(*action.Rollback)) error {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return err
	}
	rollback := action.NewRollback(configuration)
	rollback.Version, rollback.MaxHistory = revision, c.settings.MaxHistory
	rollback.Timeout, rollback.WaitStrategy, rollback.WaitOptions = c.settings.Timeout, c.settings.WaitStrategy, c.waitOptions(ctx)
	for _, option := range options {
		option(rollback)
	}
	if err := rollback.Run(name.Name); err != nil {
		return fmt.Errorf("roll back %s: %w", name, err)
	}
	return nil
}

// Uninstall does what helm uninstall does, and returns the release as it was at the end, together with
// what helm says about objects that it kept.
func (c *Client) Uninstall(
	ctx context.Context, name types.NamespacedName, options ...func(*action.Uninstall),
) (*release.Release, string, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, "", err
	}
	uninstall := action.NewUninstall(configuration)
	uninstall.Timeout, uninstall.WaitStrategy, uninstall.WaitOptions = c.settings.Timeout, c.settings.WaitStrategy, c.waitOptions(ctx)
	uninstall.DeletionPropagation = "background"
	for _, option := range options {
		option(uninstall)
	}
	response, err := uninstall.Run(name.Name)
	if response == nil {
		_, err = result("uninstall", name, nil, err)
		return nil, "", err
	}
	uninstalled, err := result("uninstall", name, response.Release, err)
	return uninstalled, response.Info, err
}

// Test does what helm test does: it runs the release's test hooks and waits for them. The release is
// returned beside the error of tests that failed.
func (c *Client) Test(ctx context.Context, name types.NamespacedName, options ...func(*action.ReleaseTesting)) (*release.Release, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	testing := action.NewReleaseTesting(configuration)
	testing.Namespace, testing.Timeout, testing.WaitOptions = name.Namespace, c.settings.Timeout, c.waitOptions(ctx)
	for _, option := range options {
		option(testing)
	}
	tested, shutdown, err := testing.Run(name.Name)
	// Only now are hooks deleted as their policies say: helm test reads logs before.
	return result("test", name, tested, errors.Join(err, shutdown()))
}

// result says which release an error is about.
func result(verb string, name types.NamespacedName, got ri.Releaser, err error) (*release.Release, error) {
	if err != nil {
		err = fmt.Errorf("%s %s: %w", verb, name, err)
	}
	if got == nil {
		return nil, err
	}
	of, ok := got.(*release.Release)
	if !ok {
		return nil, errors.Join(err, fmt.Errorf("%s %s: %w: %T", verb, name, errNotV1, got))
	}
	return of, err
}

// copied returns what Helm may write to, and does.
func copied(values map[string]any) map[string]any {
	result := make(map[string]any, len(values))
	for key, value := range values {
		result[key] = copiedValue(value)
	}
	return result
}

func copiedValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return copied(value)
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = copiedValue(item)
		}
		return result
	}
	return value
}
