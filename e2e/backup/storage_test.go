package backup

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// TestStorageIsProbed gives a cluster credentials with more and more rights, in a bucket that keeps versions from some time on.
func TestStorageIsProbed(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "probed")
	const name = "probed"
	objects := c.awaitPrefix(name, "probed") + "/*"
	reader, writer, eraser, keeper := c.newAccount("reader"), c.newAccount("writer"), c.newAccount("eraser"), c.newAccount("keeper")
	all := []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"}
	c.permit(
		statement(reader, objects, "s3:GetObject"), statement(writer, objects, all...), statement(keeper, objects, all...),
		statement(eraser, objects, append(all, "s3:DeleteObjectVersion")...),
		statement(reader, "", "s3:ListBucket"), statement(writer, "", "s3:ListBucket"), statement(eraser, "", "s3:ListBucket"), statement(keeper, "", "s3:ListBucket"),
	)
	c.setCredentials("probed", reader.access, reader.secret)
	policy := c.create(c.yearly(name))
	refused := c.awaitCondition(policy, "probed", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionFalse, backupv1alpha1.ReasonStorageNotWritable)
	if !strings.Contains(refused.Message, "AccessDenied") || !strings.Contains(refused.Message, "s3:PutObject") {
		t.Errorf("it says %q", refused.Message)
	}

	c.setCredentials("probed", writer.access, writer.secret)
	c.awaitCondition(policy, "probed", backupv1alpha1.ConditionStorageProtected, metav1.ConditionFalse, backupv1alpha1.ReasonHistoryNotKept)
	c.awaitCondition(policy, "probed", backupv1alpha1.ConditionStorageAvailable, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.awaitReady(policy)
	c.verifyNoProbeIsLeft()

	_, err := c.s3(c.root()).PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &c.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	must(t, err)
	c.setCredentials("probed", eraser.access, eraser.secret)
	c.awaitCondition(policy, "probed", backupv1alpha1.ConditionStorageProtected, metav1.ConditionFalse, backupv1alpha1.ReasonHistoryErasable)
	c.setCredentials("probed", keeper.access, keeper.secret)
	c.awaitCondition(policy, "probed", backupv1alpha1.ConditionStorageProtected, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.awaitReady(policy)
	c.verifyNoProbeIsLeft()
	expect.Eventually(t, "the policy tells of it", func(ctx context.Context) error {
		return c.policyCondition(ctx, policy, backupv1alpha1.ConditionStorageProtected, metav1.ConditionTrue)
	})
	c.remove(policy)
}

// TestALockedBucketIsProtected backs up into a bucket with an object lock. The credentials may delete versions, and not pass
// over the lock.
func TestALockedBucketIsProtected(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "locked")
	c.bucket += "-lock"
	_, err := c.s3(c.root()).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &c.bucket, ObjectLockEnabledForBucket: aws.Bool(true)})
	must(t, err)
	_, err = c.s3(c.root()).PutObjectLockConfiguration(t.Context(), &s3.PutObjectLockConfigurationInput{
		Bucket: &c.bucket, ObjectLockConfiguration: &types.ObjectLockConfiguration{
			ObjectLockEnabled: types.ObjectLockEnabledEnabled,
			Rule:              &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{Mode: types.ObjectLockRetentionModeGovernance, Days: aws.Int32(1)}},
		},
	})
	must(t, err)
	const name = "locked"
	objects, owner := c.awaitPrefix(name, "locked")+"/*", c.newAccount("owner")
	c.permit(statement(owner, objects, "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion"), statement(owner, "", "s3:ListBucket"))
	c.setCredentials("locked", owner.access, owner.secret)
	c.createNamespace("locked", "shop")
	policy := c.yearly(name)
	policy.Spec.Storage.ChecksumAlgorithm = "SHA256"
	c.create(policy)
	c.awaitReady(policy)
	c.awaitCondition(policy, "locked", backupv1alpha1.ConditionStorageProtected, metav1.ConditionTrue, metav1alpha1.ReasonSucceeded)
	c.backUp(policy, "locked", "under the lock")
	c.remove(policy)
}

// verifyNoProbeIsLeft lists what is in the bucket.
func (c *customer) verifyNoProbeIsLeft() {
	c.t.Helper()
	list, err := c.s3(c.root()).ListObjectsV2(c.t.Context(), &s3.ListObjectsV2Input{Bucket: &c.bucket})
	must(c.t, err)
	for _, object := range list.Contents {
		if strings.Contains(*object.Key, "daytwo-probe") {
			c.t.Errorf("%s is left", *object.Key)
		}
	}
}

// root may do everything in the storage.
func (c *customer) root() account { return account{c.storage.AccessKey, c.storage.SecretKey} }

func (c *customer) policyCondition(ctx context.Context, policy *backupv1alpha1.BackupPolicy, kind string, want metav1.ConditionStatus) error {
	found := policy.DeepCopy()
	if err := env.Admin.Get(ctx, client.ObjectKeyFromObject(policy), found); err != nil {
		return err
	}
	if err := expect.Condition(found.Status.Conditions, kind, want, ""); err != nil {
		return fmt.Errorf("%s: %w", policy.Name, err)
	}
	return nil
}
