package tenantcluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

func TestCredentialsAreRenewedBeforeTheyExpireWithoutAGap(t *testing.T) {
	r := newRenewing(t)
	r.account()
	r.grant("cluster-admin", r.subject())
	r.imported("prod", issued(t, 100*24*time.Hour))
	r.waitReady("prod")
	connection, _ := shared.connections.Get(r.key("prod"))
	r.witness()
	r.patch("prod", fmt.Sprintf(`{"spec":{"kubeconfigRef":{"renew":{"serviceAccount":{"namespace":%q,"name":%q}}}}}`, r.namespace, account))
	r.waitRenewal(metav1.ConditionTrue, tenancyv1alpha1.ReasonCredentialsRenewed)
	first := r.waitAnotherToken(nil)
	if owned := metav1.IsControlledBy(first, r.get("prod")); !owned || first.Type != tenancyv1alpha1.SecretTypeRenewedToken {
		t.Errorf("the token is in a Secret of type %s, owned: %t", first.Type, owned)
	}

	// Half of the seven days are over.
	shared.clock.advance(t, 4*24*time.Hour)
	r.again()
	second := r.waitAnotherToken(first)
	if after, ok := shared.connections.Get(r.key("prod")); !ok || after != connection {
		t.Error("the cluster was not handed out without interruption")
	}
	r.waitReady("prod")
	r.checkUntold(first, second)
}

func TestAChangedKubeconfigWinsOverTheTokenAndGetsOneOfItsOwn(t *testing.T) {
	r := newRenewing(t)
	r.account()
	r.grant("cluster-admin", r.subject())
	r.renewed(issued(t, 100*24*time.Hour))
	first := r.waitAnotherToken(nil)
	before, _ := shared.connections.Get(r.key("prod"))
	r.witness()
	r.deleteAccount() // There is no other token for now.
	r.secret("prod", issued(t, 200*24*time.Hour))
	r.eventually("the kubeconfig's own credentials are in use", func() (string, bool) {
		expires := r.get("prod").Status.KubeconfigExpiresAt
		after, ok := shared.connections.Get(r.key("prod"))
		return expires.String(), ok && after != before && expires != nil && time.Until(expires.Time) > 150*24*time.Hour
	})
	r.account()
	r.again()
	second := r.waitAnotherToken(first)
	if string(second.Data[renewedtoken.KeyKubeconfig]) == string(first.Data[renewedtoken.KeyKubeconfig]) {
		t.Error("the new token is said to be from the old kubeconfig")
	}
	r.waitRenewal(metav1.ConditionTrue, tenancyv1alpha1.ReasonCredentialsRenewed)
}

func TestAServiceAccountThatIsDeletedIsToldAndTheKubeconfigGoesOn(t *testing.T) {
	r := newRenewing(t)
	r.renewed(issued(t, 100*24*time.Hour))
	missing := r.waitRenewal(metav1.ConditionFalse, tenancyv1alpha1.ReasonServiceAccountNotFound)
	if !strings.Contains(missing.Message, r.namespace+"/"+account) || !strings.Contains(missing.Message, "create it") {
		t.Errorf("it says %q", missing.Message)
	}
	r.waitReady("prod")
	r.witness()
	r.account()
	r.grant("cluster-admin", r.subject())
	r.again()
	r.waitRenewal(metav1.ConditionTrue, tenancyv1alpha1.ReasonCredentialsRenewed)
	token := r.waitAnotherToken(nil)

	r.deleteAccount() // The API server refuses its tokens from now on.
	r.waitRenewal(metav1.ConditionFalse, tenancyv1alpha1.ReasonTokenRefused)
	r.waitReady("prod")
	if expires := r.get("prod").Status.KubeconfigExpiresAt; expires == nil || time.Until(expires.Time) < 50*24*time.Hour {
		t.Errorf("status tells of credentials that expire at %s", expires)
	}
	shared.clock.advance(t, 2*renewedtoken.RefusalLasts)
	r.again()
	r.waitRenewal(metav1.ConditionFalse, tenancyv1alpha1.ReasonServiceAccountNotFound)
	r.checkUntold(token)
}

func TestATokenThatCannotBeUsedIsExplained(t *testing.T) {
	rule := func(verbs, resources string, groups ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: strings.Split(verbs, " "), Resources: strings.Split(resources, " "), APIGroups: append([]string{""}, groups...)}
	}
	for name, c := range map[string]struct {
		own, account []rbacv1.PolicyRule
		status       metav1.ConditionStatus
		reason, says string
	}{
		"no right to request tokens": {
			own:    []rbacv1.PolicyRule{rule("get", "namespaces")},
			status: metav1.ConditionFalse, reason: tenancyv1alpha1.ReasonTokenRequestForbidden, says: "create on serviceaccounts/token in namespace customer-",
		},
		"no right at all": {
			own:    []rbacv1.PolicyRule{rule("get", "namespaces"), rule("create", "serviceaccounts/token")},
			status: metav1.ConditionFalse, reason: tenancyv1alpha1.ReasonTokenRefused, says: "grant the ServiceAccount",
		},
		"one right less": {
			own:     []rbacv1.PolicyRule{rule("get", "namespaces"), rule("create", "serviceaccounts/token"), rule("get patch", "configmaps")},
			account: []rbacv1.PolicyRule{rule("get", "namespaces"), rule("create", "serviceaccounts/token"), rule("get", "configmaps")},
			status:  metav1.ConditionFalse, reason: tenancyv1alpha1.ReasonTokenLacksRights, says: `"patch on configmaps"`,
		},
		"less than cluster-admin": {
			account: []rbacv1.PolicyRule{rule("*", "*", "apps")},
			status:  metav1.ConditionFalse, reason: tenancyv1alpha1.ReasonTokenLacksRights, says: `"* on *.*"`,
		},
		"the same rights in other rules": {
			own:     []rbacv1.PolicyRule{rule("get", "namespaces configmaps"), rule("create", "serviceaccounts/token")},
			account: []rbacv1.PolicyRule{rule("get", "namespaces"), rule("create patch", "serviceaccounts/token"), rule("get", "configmaps", "apps")},
			status:  metav1.ConditionTrue, reason: tenancyv1alpha1.ReasonCredentialsRenewed, says: "is in use",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			r.account()
			if c.account != nil {
				r.grant(r.role("account", c.account...), r.subject())
			}
			if c.own == nil {
				r.renewed(shared.blue.Kubeconfig())
			} else {
				r.renewed(r.userWith(r.role("own", c.own...)))
			}
			told := r.waitRenewal(c.status, c.reason)
			if !strings.Contains(told.Message, c.says) {
				t.Errorf("it says %q, and not %q", told.Message, c.says)
			}
			if kept := r.token(); (kept != nil) != (c.status == metav1.ConditionTrue) {
				t.Errorf("a token is kept: %t", kept != nil)
			}
			r.waitReady("prod")
		})
	}
}

// Whoever edits the Secret of the token gains nothing: the server is the kubeconfig's.
func TestATokenOfAnotherClusterIsRefusedAndReplaced(t *testing.T) {
	r := newRenewing(t)
	r.account()
	r.grant("cluster-admin", r.subject())
	r.renewed(issued(t, 100*24*time.Hour))
	first := r.waitAnotherToken(nil)
	r.witness()
	green, err := clientcmd.RESTConfigFromKubeConfig(shared.green.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	forged := first.DeepCopy()
	forged.Data[renewedtoken.KeyToken] = []byte("header." + strings.Repeat("a", 20) + ".of-another-cluster")
	forged.Data["server"], forged.Data["value"] = []byte(green.Host), shared.green.Kubeconfig()
	if err := r.admin.Patch(t.Context(), forged, client.MergeFrom(first)); err != nil {
		t.Fatal(err)
	}
	r.waitRenewal(metav1.ConditionFalse, tenancyv1alpha1.ReasonTokenRefused)
	r.waitReady("prod")
	if endpoint := r.get("prod").Status.Endpoint; endpoint != shared.blue.Endpoint() {
		t.Errorf("it is connected to %s", endpoint)
	}
	shared.clock.advance(t, 2*renewedtoken.RefusalLasts)
	r.again()
	r.waitRenewal(metav1.ConditionTrue, tenancyv1alpha1.ReasonCredentialsRenewed)
	r.checkUntold(first, forged, r.waitAnotherToken(forged))
}

func TestATokenGoesWhenNobodyAsksForItAnyLonger(t *testing.T) {
	for name, end := range map[string]func(*renewing){
		"renew is removed":  func(r *renewing) { r.patch("prod", `{"spec":{"kubeconfigRef":{"renew":null}}}`) },
		"all of it deleted": func(r *renewing) { r.delete("prod") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRenewing(t)
			r.account()
			r.grant("cluster-admin", r.subject())
			r.renewed(issued(t, 100*24*time.Hour))
			token := r.waitAnotherToken(nil)
			if !controllerutil.ContainsFinalizer(token, metav1alpha1.FinalizerAccess) {
				t.Error("nothing keeps the token while its namespace is deleted")
			}
			end(r)
			r.waitGone(token)
			if strings.HasPrefix(name, "all") {
				r.waitGone(&tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "prod"}})
				return
			}
			r.waitReady("prod")
			r.eventually("the kubeconfig's own credentials are told of", func() (string, bool) {
				status := r.get("prod").Status
				return conditionTexts(status, tenancyv1alpha1.ConditionCredentialsRenewed), status.KubeconfigExpiresAt != nil && time.Until(status.KubeconfigExpiresAt.Time) > 50*24*time.Hour &&
					conditionTexts(status, tenancyv1alpha1.ConditionCredentialsRenewed) == ""
			})
		})
	}
}

func TestASecretOfSomebodyElseIsNotOverwritten(t *testing.T) {
	r := newRenewing(t)
	r.account()
	r.grant("cluster-admin", r.subject())
	r.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: renewedtoken.SecretOf("prod")}, StringData: map[string]string{renewedtoken.KeyToken: "theirs"}})
	r.renewed(issued(t, 100*24*time.Hour))
	told := r.waitRenewal(metav1.ConditionFalse, tenancyv1alpha1.ReasonRenewedSecretExists)
	if !strings.Contains(told.Message, renewedtoken.SecretOf("prod")) {
		t.Errorf("it says %q", told.Message)
	}
	if theirs := r.token(); string(theirs.Data[renewedtoken.KeyToken]) != "theirs" {
		t.Error("it was overwritten")
	}
	r.waitReady("prod")
}

func TestWhatIsNoServiceAccountIsRefusedByTheAPIServer(t *testing.T) {
	r := newRenewing(t)
	r.renewed(shared.blue.Kubeconfig())
	for patch, says := range map[string]string{
		`{"namespace":"Daytwo"}`:     "must be the name of a namespace",
		`{"name":"daytwo/token"}`:    "must be the name of a ServiceAccount",
		`{"namespace":null}`:         "Required",
		`{"name":"","namespace":""}`: "should be at least 1 chars",
	} {
		cluster := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "prod"}}
		err := r.admin.Patch(t.Context(), cluster, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"kubeconfigRef":{"renew":{"serviceAccount":`+patch+`}}}}`)))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", patch, err)
		}
	}
}
