package helmclient

import (
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	ri "helm.sh/helm/v4/pkg/release"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/types"
)

// List does what helm list does in a namespace, or in all if it is empty: the latest revision of each
// release, by name.
func (c *Client) List(namespace string, options ...func(*action.List)) ([]*release.Release, error) {
	configuration, err := c.configuration(namespace)
	if err != nil {
		return nil, err
	}
	list := action.NewList(configuration)
	for _, option := range options {
		option(list)
	}
	list.SetStateMask()
	found, err := list.Run()
	if err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	return all(found)
}

// History does what helm history does: all revisions that are kept, the oldest first.
func (c *Client) History(name types.NamespacedName) ([]*release.Release, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	found, err := action.NewHistory(configuration).Run(name.Name)
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", name, err)
	}
	revisions, err := all(found)
	releaseutil.SortByRevision(revisions)
	return revisions, err
}

// Status does what helm status does: a revision, with the objects that are there of it. Revision 0 is
// the latest.
func (c *Client) Status(name types.NamespacedName, revision int) (*release.Release, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	status := action.NewStatus(configuration)
	status.Version = revision
	found, err := status.Run(name.Name)
	return result("status of", name, found, err)
}

// GetValues does what helm get values does: those that were given, or with an option's AllValues those
// that counted. Revision 0 is the latest.
func (c *Client) GetValues(name types.NamespacedName, revision int, options ...func(*action.GetValues)) (map[string]any, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return nil, err
	}
	get := action.NewGetValues(configuration)
	get.Version = revision
	for _, option := range options {
		option(get)
	}
	values, err := get.Run(name.Name)
	if err != nil {
		return nil, fmt.Errorf("values of %s: %w", name, err)
	}
	return values, nil
}

// GetManifest does what helm get manifest does. Revision 0 is the latest.
func (c *Client) GetManifest(name types.NamespacedName, revision int) (string, error) {
	configuration, err := c.configuration(name.Namespace)
	if err != nil {
		return "", err
	}
	get := action.NewGet(configuration)
	get.Version = revision
	found, err := get.Run(name.Name)
	of, err := result("manifest of", name, found, err)
	if err != nil {
		return "", err
	}
	return of.Manifest, nil
}

func all(found []ri.Releaser) ([]*release.Release, error) {
	releases := make([]*release.Release, 0, len(found))
	for _, one := range found {
		of, ok := one.(*release.Release)
		if !ok {
			return nil, fmt.Errorf("%w: %T", errNotV1, one)
		}
		releases = append(releases, of)
	}
	return releases, nil
}
