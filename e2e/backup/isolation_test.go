package backup

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/internal/evidence"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// account of the S3 gateway.
type account struct{ access, secret string }

// TestACredentialIsGoodForItsClusterAlone has one account a cluster, and one for drills, as docs/kinds/backuppolicy.md says.
// What somebody takes out of one cluster reads and deletes nothing of another one, and what a drill puts into a standby
// deletes no backup. What drills prove is written by an account that may do nothing else.
func TestACredentialIsGoodForItsClusterAlone(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, "workload-14", "workload-15")
	own, other, drills, auditor := c.newAccount("own"), c.newAccount("other"), c.newAccount("drills"), c.newAccount("auditor")
	c.createSecret("auditor", auditor.access, auditor.secret)
	c.setCredentials("workload-14", own.access, own.secret)
	c.setCredentials("workload-15", other.access, other.secret)
	c.createSecret("drills-workload-14", drills.access, drills.secret)
	c.createSecret("drills-workload-15", drills.access, drills.secret)
	const name = "alone"
	ownPrefix, otherPrefix := c.awaitPrefix(name, "workload-14"), c.awaitPrefix(name, "workload-15")
	c.permit(
		statement(own, ownPrefix+"/*", "s3:GetObject", "s3:PutObject", "s3:DeleteObject"), statement(other, otherPrefix+"/*", "s3:GetObject", "s3:PutObject", "s3:DeleteObject"),
		statement(drills, ownPrefix+"/*", "s3:GetObject"), statement(drills, ownPrefix+"/restores/*", "s3:PutObject", "s3:DeleteObject"),
		statement(auditor, "proofs/*", "s3:PutObject"), statement(own, "", "s3:ListBucket"), statement(other, "", "s3:ListBucket"), statement(drills, "", "s3:ListBucket"),
	)

	policy := c.yearly(name)
	policy.Spec.Storage.DrillCredentials = &backupv1alpha1.StorageCredentials{SecretName: "drills-{{ .Cluster.Name }}"}
	c.createNamespace("workload-14", "shop")
	c.createNamespace("workload-15", "market")
	policy.Spec.Evidence = &backupv1alpha1.EvidenceStorage{Bucket: c.bucket, Prefix: "proofs", SecretName: "auditor"}
	policy.Spec.Template.IncludedNamespaces = nil
	c.create(policy)
	c.awaitReady(policy)
	c.annotate(policy, metav1alpha1.AnnotationBackupNow, "for everybody")
	last := c.awaitBackup(policy, "workload-14").Status.LastSuccessful.Name
	c.awaitBackup(policy, "workload-15")

	archive := path.Join(ownPrefix, "backups", last, last+".tar.gz")
	if err := c.read(own, archive); err != nil {
		t.Errorf("a cluster cannot read its own backup: %v", err)
	}
	for who, attempts := range map[string]map[string]error{
		"another cluster": {"reads": c.read(other, archive), "deletes": c.delete(other, archive), "writes": c.write(other, path.Join(ownPrefix, "backups", "forged"))},
		"a drill":         {"deletes": c.delete(drills, archive), "writes": c.write(drills, path.Join(ownPrefix, "backups", "forged"))},
	} {
		for what, err := range attempts {
			if !isDenied(err) {
				t.Errorf("%s %s a backup: %v", who, what, err)
			}
		}
	}

	drill := c.newDrill(policy, "workload-14", backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillStandby, StandbyName: "workload-15"})
	drill.Spec.Namespaces.Include = []string{"shop"}
	must(t, env.Admin.Create(t.Context(), drill))
	c.awaitVerdict(drill, backupv1alpha1.DrillPassed)
	c.checkCopy(drill)
	c.removeDrill(drill)
	c.remove(policy)
}

// checkCopy compares what is in the bucket of a drill's evidence with the hash on record.
func (c *customer) checkCopy(drill *backupv1alpha1.DRDrill) {
	c.t.Helper()
	written := drill.Status.Evidence
	if written == nil || written.Copy == nil || written.Copy.WrittenAt == nil || !strings.HasPrefix(written.Copy.Key, "proofs/"+c.namespace+"/alone/"+c.namespace+"/workload-14/") {
		c.t.Fatalf("the status tells of the evidence: %+v", written)
	}
	document, err := os.ReadFile(filepath.Join(c.bucketDir, written.Copy.Key))
	must(c.t, err)
	if got := evidence.Hash(document); got != written.Hash {
		c.t.Errorf("the document in the bucket has the hash %s, and not %s", got, written.Hash)
	}
	if signature, err := os.ReadFile(filepath.Join(c.bucketDir, written.Copy.Key+".sig")); err != nil || len(signature) == 0 {
		c.t.Errorf("its signature: %q, %v", signature, err)
	}
}

// newAccount may do nothing yet.
func (c *customer) newAccount(name string) account {
	c.t.Helper()
	made := account{access: c.bucket + "-" + name, secret: "not-a-secret-" + name}
	must(c.t, env.Fleet.CreateStorageAccount(c.t.Context(), made.access, made.secret))
	return made
}

// awaitPrefix is where the backups of a cluster are going to be: it follows from the identity of the cluster.
func (c *customer) awaitPrefix(policy, cluster string) string {
	c.t.Helper()
	found := &tenancyv1alpha1.TenantCluster{}
	expect.Eventually(c.t, "the identity of "+cluster+" is known", func(ctx context.Context) error {
		if err := env.Admin.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: cluster}, found); err != nil {
			return err
		}
		return expect.Condition(found.Status.Conditions, tenancyv1alpha1.ConditionConnected, metav1.ConditionTrue, "")
	})
	return path.Join("daytwo", c.namespace, policy, found.Status.ClusterID)
}

// statement permits an account some actions on the objects with keys of a pattern, or on the bucket if that is empty.
func statement(who account, keys string, actions ...string) map[string]any {
	return map[string]any{"Effect": "Allow", "Principal": map[string]any{"AWS": who.access}, "Action": actions, "Resource": keys}
}

// permit sets the policy of the customer's bucket.
func (c *customer) permit(statements ...map[string]any) {
	c.t.Helper()
	for _, one := range statements {
		one["Resource"] = path.Join("arn:aws:s3:::"+c.bucket, one["Resource"].(string))
	}
	document, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	must(c.t, err)
	_, err = c.s3(account{c.storage.AccessKey, c.storage.SecretKey}).PutBucketPolicy(c.t.Context(), &s3.PutBucketPolicyInput{Bucket: &c.bucket, Policy: aws.String(string(document))})
	must(c.t, err)
}

func (c *customer) s3(as account) *s3.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.storage.CA)
	return s3.New(s3.Options{
		Region: c.storage.Region, UsePathStyle: true, BaseEndpoint: &c.storage.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(as.access, as.secret, ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},

		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
}

func (c *customer) read(as account, key string) error {
	answer, err := c.s3(as).GetObject(c.t.Context(), &s3.GetObjectInput{Bucket: &c.bucket, Key: &key})
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

func (c *customer) delete(as account, key string) error {
	_, err := c.s3(as).DeleteObject(c.t.Context(), &s3.DeleteObjectInput{Bucket: &c.bucket, Key: &key})
	return err
}

func (c *customer) write(as account, key string) error {
	_, err := c.s3(as).PutObject(c.t.Context(), &s3.PutObjectInput{Bucket: &c.bucket, Key: &key, Body: bytes.NewReader([]byte("forged"))})
	return err
}

func isDenied(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == "AccessDenied"
}
