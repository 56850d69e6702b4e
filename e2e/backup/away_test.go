package backup

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// behindProxy has the policies of a customer use the storage through a proxy. A request for which intercept returns true has
// been answered by it.
func (c *customer) behindProxy(intercept func(http.ResponseWriter, *http.Request) bool) {
	c.t.Helper()
	to, err := url.Parse(c.storage.Endpoint)
	must(c.t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.storage.CA)
	proxy := &httputil.ReverseProxy{
		// The Host of a request is signed.
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !intercept(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	c.t.Cleanup(server.Close)
	c.storage.Endpoint = server.URL
}

func isArchive(r *http.Request, method string) bool {
	return r.Method == method && strings.HasSuffix(r.URL.Path, ".tar.gz")
}

// TestStorageGoesAwayInTheMiddleOfARestore has the storage answer Velero with a part of the archive, and then nobody any more.
func TestStorageGoesAwayInTheMiddleOfARestore(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "away")
	drill := &backupv1alpha1.DRDrill{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "rehearsal"}}
	isRestoring := func(ctx context.Context) bool {
		seen := &backupv1alpha1.DRDrill{}
		return env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), seen) == nil && seen.Status.Action("restore") != nil
	}
	var away atomic.Bool
	c.behindProxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case away.Load():
			panic(http.ErrAbortHandler)
		case isArchive(r, http.MethodGet) && isRestoring(r.Context()):
			away.Store(true)
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write([]byte("\x1f\x8b\x08"))
			panic(http.ErrAbortHandler)
		}
		return false
	})
	policy := c.backedUp("away", shop)
	wanted := c.newDrill(policy, "away", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped})
	wanted.Spec.RestoreTimeout = &metav1.Duration{Duration: time.Minute}
	must(t, env.Admin.Create(t.Context(), wanted))
	c.awaitVerdict(drill, backupv1alpha1.DrillFailed)
	if !away.Load() {
		t.Fatal("the storage did not go away")
	}
	for name, want := range map[string]backupv1alpha1.CheckResult{
		backupv1alpha1.CheckBackup: backupv1alpha1.CheckPassed, backupv1alpha1.CheckRestore: backupv1alpha1.CheckFailed,
		backupv1alpha1.CheckCompleteness: backupv1alpha1.CheckNotChecked,
	} {
		if got := checkOf(drill, name); got.Result != want || got.Message == "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if told := checkOf(drill, backupv1alpha1.CheckCompleteness).Message; !strings.Contains(told, "the storage does not answer as it should") {
		t.Errorf("Completeness tells %q", told)
	}
	// Velero removes what a restore wrote into the bucket before the Restore goes.
	expect.Eventually(t, "the drill tells what is left", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), drill); err != nil {
			return err
		}
		return expect.Condition(drill.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionUnknown, metav1alpha1.ReasonDeleting)
	})
	if told := meta.FindStatusCondition(drill.Status.Conditions, metav1alpha1.ConditionReady).Message; !strings.Contains(told, "Restore") {
		t.Errorf("Ready tells %q", told)
	}
	away.Store(false)
	c.awaitNothingLeft(drill, "away")
	c.removeDrill(drill)
	c.remove(policy)
}

// TestAPolicyEditRestartsNoBackup edits a policy while a backup of it is being written.
func TestAPolicyEditRestartsNoBackup(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "edited")
	writing, edited := make(chan struct{}), make(chan struct{})
	var once sync.Once
	c.behindProxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if isArchive(r, http.MethodPut) {
			once.Do(func() { close(writing) })
			select {
			case <-edited:
			case <-r.Context().Done():
			}
		}
		return false
	})
	policy := c.create(c.yearly("edited"))
	c.awaitReady(policy)
	c.createNamespace("edited", "shop")
	c.annotate(policy, metav1alpha1.AnnotationBackupNow, "before the edit")
	<-writing
	before := c.underWay(policy, "edited")

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"template":{"excludedResources":["events"]},"retention":{"ttl":"3h"},"schedule":{"spread":"1h"}}}`))
	must(t, env.Admin.Patch(t.Context(), policy, patch))
	expect.Eventually(t, "the Schedule is the new one", func(context.Context) error {
		if declared := c.velero("Schedule", "edited", before.velero); declared == nil || !strings.Contains(fmt.Sprint(declared.Object), "events") {
			return fmt.Errorf("it is %v", declared)
		}
		return nil
	})
	close(edited)
	done := c.awaitBackup(policy, "edited").Status
	if done.LastSuccessful.Name != before.name || len(done.Runs) != 1 || !done.LastSuccessful.StartedAt.Equal(before.startedAt) {
		t.Errorf("%s of %s was under way; now there are %+v", before.name, before.startedAt, done.Runs)
	}
	c.remove(policy)
}

// underWay is a backup that has started.
type underWay struct {
	velero, name string
	startedAt    *metav1.Time
}

// underWay awaits the one backup of a policy that is under way in a cluster.
func (c *customer) underWay(policy *backupv1alpha1.BackupPolicy, cluster string) (found underWay) {
	c.t.Helper()
	expect.Eventually(c.t, "a backup is under way", func(ctx context.Context) error {
		status := c.enrollment(ctx, policy, cluster).Status
		if len(status.Runs) != 1 || status.Runs[0].StartedAt == nil || status.Runs[0].EndedAt != nil {
			return fmt.Errorf("there are %+v", status.Runs)
		}
		found = underWay{velero: status.Velero.Name, name: status.Runs[0].Name, startedAt: status.Runs[0].StartedAt}
		return nil
	})
	return found
}
