package backup

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

const (
	firstPassword  = "correct horse battery staple"
	secondPassword = "another password that is long"
)

// setPassword writes the password of repositories into a Secret of the customer's.
func (c *customer) setPassword(name, password string) {
	c.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, StringData: map[string]string{"password": password}}
	err := env.Admin.Create(c.t.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = env.Admin.Update(c.t.Context(), secret)
	}
	must(c.t, err)
}

// repositoryPassword is what Velero has in a cluster.
func (c *customer) repositoryPassword(ctx context.Context, cluster string) string {
	c.t.Helper()
	secret := &corev1.Secret{}
	must(c.t, c.workload(cluster).Get(ctx, client.ObjectKey{Namespace: "velero", Name: "velero-repo-credentials"}, secret))
	return string(secret.Data["repository-password"])
}

// awaitPassword waits until Velero has a password in a cluster.
func (c *customer) awaitPassword(cluster, want string) {
	c.t.Helper()
	expect.Eventually(c.t, "Velero has the password", func(ctx context.Context) error {
		if c.repositoryPassword(ctx, cluster) != want {
			return errors.New("it has another one")
		}
		return nil
	})
}

// createRepository makes what a node-agent would.
func (c *customer) createRepository(cluster string) *unstructured.Unstructured {
	c.t.Helper()
	repository := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"volumeNamespace": "shop", "backupStorageLocation": "none", "repositoryType": "kopia", "maintenanceFrequency": "1h0m0s",
	}}}
	repository.SetGroupVersionKind(schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupRepository"})
	repository.SetNamespace("velero")
	repository.SetName("shop-none-kopia")
	must(c.t, c.workload(cluster).Create(c.t.Context(), repository))
	return repository
}

// testOtherPassword has one more policy with the same password, too, which is from another Secret.
func (c *customer) testOtherPassword(t *testing.T, cluster string) {
	c.setPassword("copied", firstPassword)
	copied := c.create(c.templated("copied", "copied"))
	c.awaitReady(copied)
	c.setPassword("other", secondPassword)
	other := c.create(c.templated("other", "other"))
	told := c.awaitCondition(other, cluster, metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonRepositoryPasswordConflict)
	if !strings.Contains(told.Message, "rich") || strings.Contains(told.Message, firstPassword) || strings.Contains(told.Message, secondPassword) {
		t.Errorf("the message is: %s", told.Message)
	}
	c.remove(copied)
	c.remove(other)
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("another policy set the password %q", got)
	}
}

func (c *customer) testChangedPassword(t *testing.T, policy *backupv1alpha1.BackupPolicy, cluster string) {
	repository := c.createRepository(cluster)
	c.setPassword("repository", secondPassword)
	told := c.awaitCondition(policy, cluster, metav1alpha1.ConditionReady, metav1.ConditionFalse, backupv1alpha1.ReasonRepositoryPasswordConflict)
	if !strings.Contains(told.Message, "shop-none-kopia") || !strings.Contains(told.Message, "put the old password back") {
		t.Errorf("the message is: %s", told.Message)
	}
	if got := c.repositoryPassword(t.Context(), cluster); got != firstPassword {
		t.Errorf("the password was changed to %q", got)
	}
	must(t, c.workload(cluster).Delete(t.Context(), repository))
	c.awaitPassword(cluster, secondPassword)
	c.setPassword("repository", firstPassword)
	c.awaitPassword(cluster, firstPassword)
	c.awaitReady(policy)
	c.expectNoPassword(firstPassword, secondPassword)
}

// testPasswordDrift has a repository, which is no reason to leave the change.
func (c *customer) testPasswordDrift(t *testing.T, cluster string) {
	c.createRepository(cluster)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "velero-repo-credentials"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"stringData":{"repository-password":%q}}`, secondPassword))
	must(t, c.workload(cluster).Patch(t.Context(), secret, patch, client.FieldOwner("kubectl-edit")))
	c.awaitPassword(cluster, firstPassword)
	c.expectNoPassword(firstPassword, secondPassword)
}

// testInheritedPassword has the policy that kept the Secret gone. The other one takes it over when it is looked at.
func (c *customer) testInheritedPassword(t *testing.T, policy *backupv1alpha1.BackupPolicy, cluster string) {
	tenant := &tenancyv1alpha1.TenantCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: cluster}}
	c.annotate(tenant, metav1alpha1.AnnotationRequestedAt, "inherited")
	expect.Eventually(t, "the Secret is among its objects", func(ctx context.Context) error {
		inventory := c.enrollment(ctx, policy, cluster).Status.Inventory
		if !slices.ContainsFunc(inventory, func(e metav1alpha1.InventoryEntry) bool { return strings.HasSuffix(e.ID, "velero-repo-credentials") }) {
			return fmt.Errorf("they are %+v", inventory)
		}
		return nil
	})
}

// expectNoPassword looks for passwords in all that the manager tells.
func (c *customer) expectNoPassword(passwords ...string) {
	c.t.Helper()
	log, err := os.ReadFile(env.Manager.LogPath())
	must(c.t, err)
	told := map[string]string{"the log": string(log)}
	for _, list := range []client.ObjectList{
		&backupv1alpha1.BackupPolicyList{}, &backupv1alpha1.BackupEnrollmentList{}, &corev1.ConfigMapList{}, &eventsv1.EventList{},
	} {
		must(c.t, env.Admin.List(c.t.Context(), list, client.InNamespace(c.namespace)))
		text, err := json.Marshal(list)
		must(c.t, err)
		told[fmt.Sprintf("%T", list)] = string(text)
	}
	for where, text := range told {
		for _, password := range passwords {
			if strings.Contains(text, password) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(password))) {
				c.t.Errorf("%s tells a password", where)
			}
		}
	}
}
