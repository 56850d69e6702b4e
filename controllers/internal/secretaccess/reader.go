package secretaccess

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Manager returns a manager whose clients read Secrets of the access alone. Its cache has to have the CacheOptions and NewInformer.
func (a *Access) Manager(inner ctrl.Manager) ctrl.Manager {
	if a == nil {
		return inner
	}
	return &manager{Manager: inner, access: a}
}

type manager struct {
	ctrl.Manager
	access *Access
}

// GetClient implements cluster.Cluster.
func (m *manager) GetClient() client.Client {
	inner := m.Manager.GetClient()
	return &narrowClient{Client: inner, reads: reader{inner, m.access}}
}

// GetAPIReader implements cluster.Cluster.
func (m *manager) GetAPIReader() client.Reader { return reader{m.Manager.GetAPIReader(), m.access} }

// narrowClient writes as the client does.
type narrowClient struct {
	client.Client
	reads reader
}

// Get implements client.Reader.
func (c *narrowClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reads.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (c *narrowClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reads.List(ctx, list, options...)
}

// reader reads Secrets that may be read, and everything else.
type reader struct {
	inner  client.Reader
	access *Access
}

// Get implements client.Reader.
func (r reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if isOfSecrets(object) {
		if err := r.access.Check(key.Namespace); err != nil {
			return err
		}
	}
	return r.inner.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (r reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if isOfSecrets(list) {
		wanted := client.ListOptions{}
		if err := r.access.Check(wanted.ApplyOptions(options).Namespace); err != nil {
			return err
		}
	}
	return r.inner.List(ctx, list, options...)
}

// isOfSecrets is whether an object is a Secret or a list of them, in whatever form.
func isOfSecrets(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Secret, *corev1.SecretList:
		return true
	}
	kind := object.GetObjectKind().GroupVersionKind()
	return kind.Group == corev1.GroupName && (kind.Kind == "Secret" || kind.Kind == "SecretList")
}
