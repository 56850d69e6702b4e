package doors

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

func TestMetricsOfAllCustomersAreForTheProvidersMonitoring(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "daytwo-system", Name: "prometheus"}}
	must(t, env.Admin.Create(t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	must(t, env.Admin.SubResource("token").Create(t.Context(), account, request))
	answers := func(code int, token string) {
		t.Helper()
		expect.Eventually(t, fmt.Sprintf("the manager answers %d", code), func(ctx context.Context) error { return scrape(ctx, code, token) })
	}
	answers(http.StatusUnauthorized, "")
	must(t, env.Admin.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	answers(http.StatusOK, request.Status.Token)
}

func scrape(ctx context.Context, code int, token string) error {
	self := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // The certificate is self-signed.
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+metricsPort+"/metrics", nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := self.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != code {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	_ = response.Body.Close() // Nothing of it is read.
	return err
}
