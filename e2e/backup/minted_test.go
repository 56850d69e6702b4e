package backup

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// standInForSTS is a stand-in: it hands out the accounts of the S3 gateway one after the other, and not what AWS would mint. No
// open S3 service for tests has AssumeRole.
type standInForSTS struct {
	accounts []account
	life     time.Duration
	calls    atomic.Int32
	away     atomic.Bool
	mu       sync.Mutex
	asked    []string
}

func (s *standInForSTS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() {
		panic(http.ErrAbortHandler)
	}
	_ = r.ParseForm()
	call := int(s.calls.Add(1))
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s for %s, signed by %s: %s", r.PostForm.Get("RoleArn"), r.PostForm.Get("ExternalId"), r.Header.Get("Authorization"), r.PostForm.Get("Policy")))
	s.mu.Unlock()
	given := s.accounts[call%len(s.accounts)]
	fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		given.access, given.secret, time.Now().Add(s.life).UTC().Format(time.RFC3339))
}

// TestTemporaryCredentialsAreRenewed has a role assumed for a cluster, whose credentials are good for a short time.
func TestTemporaryCredentialsAreRenewed(t *testing.T) {
	c := newCustomer(t, "minted")
	const name = "minted"
	objects := c.awaitPrefix(name, "minted") + "/*"
	odd, even := c.newAccount("odd"), c.newAccount("even")
	all := []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}
	c.permit(statement(odd, objects, all...), statement(even, objects, all...), statement(odd, "", "s3:ListBucket"), statement(even, "", "s3:ListBucket"))
	sts := &standInForSTS{accounts: []account{even, odd}, life: 20 * time.Second}
	server := httptest.NewTLSServer(sts)
	t.Cleanup(server.Close)
	c.trust(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))

	policy := c.yearly(name)
	policy.Spec.Storage.Credentials = backupv1alpha1.StorageCredentials{AssumeRole: &backupv1alpha1.AssumeRole{
		RoleARN: "arn:aws:iam::123456789012:role/backups", Endpoint: server.URL, Duration: &metav1.Duration{Duration: 8 * time.Hour},
	}}
	c.createNamespace("minted", "shop")
	c.create(policy)
	c.awaitReady(policy)
	c.awaitCondition(policy, "minted", backupv1alpha1.ConditionCredentialsRenewed, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	first := c.locationKey("minted", policy)
	expect.Eventually(t, "others reach the cluster", func(context.Context) error {
		if key := c.locationKey("minted", policy); key == first || sts.calls.Load() < 2 {
			return fmt.Errorf("the location has %s, after %d calls", key, sts.calls.Load())
		}
		return nil
	})
	c.backUp(policy, "minted", "with temporary credentials")
	sts.mu.Lock()
	if asked := sts.asked[0]; !strings.HasPrefix(asked, "arn:aws:iam::123456789012:role/backups for daytwo:"+c.namespace+", signed by AWS4-HMAC-SHA256 Credential=the-manager/") || !strings.Contains(asked, strings.TrimSuffix(objects, "/*")) {
		t.Errorf("STS was asked for %s", asked)
	}
	sts.mu.Unlock()

	sts.away.Store(true)
	told := c.awaitCondition(policy, "minted", backupv1alpha1.ConditionCredentialsRenewed, metav1.ConditionFalse, backupv1alpha1.ReasonCredentialsNotRenewed)
	if !strings.Contains(told.Message, "STS does not answer") {
		t.Errorf("it says %q", told.Message)
	}
	sts.life = 12 * time.Hour
	sts.away.Store(false)
	c.awaitCondition(policy, "minted", backupv1alpha1.ConditionCredentialsRenewed, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	calls := sts.calls.Load()
	must(t, env.Manager.Kill())
	must(t, env.Manager.Start(t.Context()))
	c.backUp(policy, "minted", "after a start of the manager")
	if more := sts.calls.Load() - calls; more > 0 {
		t.Errorf("a start of the manager has minted %d", more)
	}
	c.remove(policy)
}

// trust has the customer trust another authority, beside that of the storage.
func (c *customer) trust(ca []byte) {
	c.t.Helper()
	config := &corev1.ConfigMap{}
	must(c.t, env.Admin.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "storage-ca"}, config))
	config.Data["ca.crt"] += "\n" + string(ca)
	must(c.t, env.Admin.Update(c.t.Context(), config))
}

// locationKey is the key with the credentials in the cluster, which differs with them.
func (c *customer) locationKey(cluster string, policy *backupv1alpha1.BackupPolicy) string {
	c.t.Helper()
	location := c.velero("BackupStorageLocation", cluster, c.enrollment(c.t.Context(), policy, cluster).Status.Velero.Name)
	key, _, err := unstructured.NestedString(location.Object, "spec", "credential", "key")
	must(c.t, err)
	return key
}
