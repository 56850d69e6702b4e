package policy

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

// informers of the kinds in a cache that was filled without an API server.
type informers map[schema.GroupVersionKind]toolscache.SharedIndexInformer

// newOfflineManager is a manager whose informers list the objects and see no changes.
func newOfflineManager(t testing.TB, objects map[schema.GroupVersionKind][]kruntime.Object, made informers) ctrl.Manager {
	scheme := apis.NewScheme()
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if kind.Kind == "Namespace" {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(kind, scope)
	}
	newInformer := func(_ toolscache.ListerWatcher, object kruntime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		kind := object.GetObjectKind().GroupVersionKind()
		if kind.Empty() {
			kinds, _, err := scheme.ObjectKinds(object)
			if err != nil {
				t.Fatal(err)
			}
			kind = kinds[0]
		}
		made[kind] = toolscache.NewSharedIndexInformer(listOf(objects[kind]), object, resync, indexers)
		return made[kind]
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Cache:          cache.Options{NewInformer: newInformer},
	})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// listed lists objects and never tells of a change.
type listed struct{ toolscache.ListWatch }

// IsWatchListSemanticsUnSupported: a list is one answer, not a watch.
func (*listed) IsWatchListSemanticsUnSupported() bool { return true }

func listOf(objects []kruntime.Object) toolscache.ListerWatcher {
	list := func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
		list := &corev1.List{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
		for _, object := range objects {
			list.Items = append(list.Items, kruntime.RawExtension{Object: object})
		}
		return list, nil
	}
	silent := func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }
	return &listed{toolscache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: silent}}
}

// startCache starts the cache and waits until it is filled.
func startCache(t testing.TB, mgr ctrl.Manager) {
	for _, object := range []client.Object{&addonsv1alpha1.SaaSAddon{}, &addonsv1alpha1.AddonRelease{}, &tenancyv1alpha1.TenantCluster{}, metadataOf("Secret"), metadataOf("Namespace"), metadataOf("ConfigMap")} {
		if _, err := mgr.GetCache().GetInformer(t.Context(), object, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = mgr.GetCache().Start(t.Context()) }()
	if !mgr.GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the caches are not filled")
	}
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}

// contentOf reads content that is always the same.
func contentOf(text string) func(context.Context) ([]byte, *Stall, error) {
	return func(context.Context) ([]byte, *Stall, error) { return []byte(text), nil, nil }
}
