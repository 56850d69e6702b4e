package tenantcluster

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// shiftedClock is the real one, and some time ahead.
type shiftedClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *shiftedClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *shiftedClock) Since(at time.Time) time.Duration { return c.Now().Sub(at) }

// advance sets the clock ahead until the end of the test.
func (c *shiftedClock) advance(t *testing.T, by time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ahead -= by
	})
}

// spoken is a log that is kept.
type spoken struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (s *spoken) logger() logr.Logger {
	return funcr.New(func(prefix, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines.WriteString(prefix + line + "\n")
	}, funcr.Options{Verbosity: 10})
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}

// renewing is a customer whose credentials in blue are renewed, by a ServiceAccount in a namespace of the customer's name.
type renewing struct {
	*tenant
	blue kubernetes.Interface
}

const account = "daytwo"

func newRenewing(t *testing.T) *renewing {
	t.Helper()
	r := &renewing{tenant: newTenant(t), blue: kubernetes.NewForConfigOrDie(shared.blue.Config())}
	if _, err := r.blue.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// account makes the ServiceAccount.
func (r *renewing) account() {
	r.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: account}}
	if _, err := r.blue.CoreV1().ServiceAccounts(r.namespace).Create(r.ctx, made, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

func (r *renewing) deleteAccount() {
	r.Helper()
	if err := r.blue.CoreV1().ServiceAccounts(r.namespace).Delete(r.ctx, account, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}

func (r *renewing) subject() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: r.namespace, Name: account}
}

// grant gives somebody a role in all of blue.
func (r *renewing) grant(role string, subject rbacv1.Subject) {
	r.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: r.namespace + "-"}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	if _, err := r.blue.RbacV1().ClusterRoleBindings().Create(r.ctx, binding, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// role makes one in blue.
func (r *renewing) role(name string, rules ...rbacv1.PolicyRule) string {
	r.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.namespace + "-" + name}, Rules: rules}
	if _, err := r.blue.RbacV1().ClusterRoles().Create(r.ctx, role, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	return role.Name
}

// userWith has a kubeconfig of somebody who has a role.
func (r *renewing) userWith(role string) []byte {
	r.Helper()
	name := "limited-" + string(uuid.NewUUID())
	r.grant(role, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	kubeconfig, err := shared.blue.KubeconfigFor(name, nil, time.Hour*24*365)
	if err != nil {
		r.Fatal(err)
	}
	return kubeconfig
}

// renewed imports blue as prod.
func (r *renewing) renewed(kubeconfig []byte) {
	r.Helper()
	r.secret("prod", kubeconfig)
	r.create(&tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "prod"},
		Spec: tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{
			Name: "prod", Renew: &tenancyv1alpha1.CredentialsRenewal{ServiceAccount: tenancyv1alpha1.ServiceAccountReference{Namespace: r.namespace, Name: account}},
		}},
	})
}

// again asks for a try.
func (r *renewing) again() {
	r.Helper()
	r.annotate("prod", metav1alpha1.AnnotationRequestedAt, string(uuid.NewUUID()))
}

// waitRenewal waits for a reason of CredentialsRenewed.
func (r *renewing) waitRenewal(status metav1.ConditionStatus, reason string) metav1.Condition {
	r.Helper()
	return r.waitFor("prod", tenancyv1alpha1.ConditionCredentialsRenewed, status, reason)
}

// token is the Secret in which the token is kept; nil if there is none.
func (r *renewing) token() *corev1.Secret {
	r.Helper()
	secret := &corev1.Secret{}
	err := r.admin.Get(r.ctx, r.key(renewedtoken.SecretOf("prod")), secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.Fatal(err)
	}
	return secret
}

// waitAnotherToken waits until another token than the given one is in use, and returns it.
func (r *renewing) waitAnotherToken(before *corev1.Secret) *corev1.Secret {
	r.Helper()
	var found *corev1.Secret
	r.eventually("another token is in use", func() (string, bool) {
		found = r.token()
		if found == nil || before != nil && bytes.Equal(found.Data[renewedtoken.KeyToken], before.Data[renewedtoken.KeyToken]) {
			return "the same", false
		}
		expires := r.get("prod").Status.KubeconfigExpiresAt
		return expires.String(), expires != nil && expires.UTC().Format(time.RFC3339) == string(found.Data[renewedtoken.KeyExpiresAt])
	})
	return found
}

// witness follows what Connected says from now on, and complains at the end if it was not True all the time.
func (r *renewing) witness() {
	r.Helper()
	list := &tenancyv1alpha1.TenantClusterList{ListMeta: metav1.ListMeta{ResourceVersion: r.get("prod").ResourceVersion}}
	watch, err := shared.admin.Watch(r.ctx, list, client.InNamespace(r.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		r.Fatal(err)
	}
	ended := make(chan []string, 1)
	go func() {
		var others []string
		for event := range watch.ResultChan() {
			if cluster, ok := event.Object.(*tenancyv1alpha1.TenantCluster); ok && cluster.DeletionTimestamp == nil {
				if connected := meta.FindStatusCondition(cluster.Status.Conditions, tenancyv1alpha1.ConditionConnected); connected == nil || connected.Status != metav1.ConditionTrue {
					others = append(others, cluster.ResourceVersion)
				}
			}
		}
		ended <- others
	}()
	r.Cleanup(func() {
		watch.Stop()
		if others := <-ended; len(others) > 0 {
			r.Errorf("Connected was not True in versions %v", others)
		}
	})
}

// checkUntold looks for tokens where people read.
func (r *renewing) checkUntold(tokens ...*corev1.Secret) {
	r.Helper()
	events := &eventsv1.EventList{}
	if err := r.admin.List(r.ctx, events, client.InNamespace(r.namespace)); err != nil {
		r.Fatal(err)
	}
	for _, token := range tokens {
		// The signature alone would do harm as little as the rest, but tells that there was a token.
		_, signature, _ := strings.Cut(string(token.Data[renewedtoken.KeyToken]), ".")
		for place, content := range map[string]any{"status": r.get("prod"), "an event": events, "the log": shared.log.String()} {
			text, err := json.Marshal(content)
			if err != nil {
				r.Fatal(err)
			}
			if bytes.Contains(text, []byte(signature)) {
				r.Errorf("the token is in %s", place)
			}
		}
	}
}
