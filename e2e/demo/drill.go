package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// What is backed up, and where to: the first customer's add-ons.
const (
	backupName  = "nightly"
	backupStore = "acme-backups"
	drillName   = "first-drill"
)

// rehearseRecovery backs up a cluster, and shows that the backup can be restored.
func (s *story) rehearseRecovery(ctx context.Context) error {
	c := s.customers[0]
	policy, err := s.backUp(ctx, c)
	if err != nil {
		return err
	}
	drill, err := s.drill(ctx, c)
	if err != nil {
		return err
	}
	for _, one := range drill.Status.Checks {
		s.screen.Note(fmt.Sprintf("%-12s  %s", one.Name, one.Message))
	}
	s.screen.Command(kubectl() + " get drill -A")
	report, err := s.report(ctx, drill)
	if err != nil {
		return err
	}
	s.screen.Note("what it proves, as a page: " + report)
	return s.deleteAndWait(ctx, drill, policy)
}

// backUp has Velero make a backup of a customer's cluster.
func (s *story) backUp(ctx context.Context, c customer) (*backupv1alpha1.BackupPolicy, error) {
	policy, objects, err := s.newBackup(c)
	if err != nil {
		return nil, err
	}
	return policy, s.screen.Do("backing up "+c.name, func() (done, error) {
		start := time.Now()
		for _, object := range objects {
			if err := s.env.Admin.Create(ctx, object); err != nil {
				return done{}, err
			}
		}
		var last *backupv1alpha1.BackupRun
		err := await(ctx, func(ctx context.Context) (sight, error) {
			list := &backupv1alpha1.BackupEnrollmentList{}
			if err := s.env.Admin.List(ctx, list, client.InNamespace(c.namespace())); err != nil || len(list.Items) == 0 {
				return sight{seen: "no BackupEnrollment"}, err
			}
			last = list.Items[0].Status.LastSuccessful
			return sight{happened: last != nil, seen: describe(list.Items[0].Status.Conditions, metav1alpha1.ConditionReady)}, nil
		})
		if err != nil {
			return done{}, err
		}
		return done{fmt.Sprintf("%s: Velero set up, and %d objects backed up to an S3 bucket", c.name, last.Items), time.Since(start)}, nil
	})
}

// newBackup is a policy for a customer's cluster, and what it needs. A backup is made at once; the next one is years away.
func (s *story) newBackup(c customer) (*backupv1alpha1.BackupPolicy, []client.Object, error) {
	storage, err := s.env.Fleet.Storage()
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.env.Fleet.CreateBucket(backupStore); err != nil {
		return nil, nil, err
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: c.namespace(), Name: name} }
	policy := &backupv1alpha1.BackupPolicy{ObjectMeta: named(backupName), Spec: backupv1alpha1.BackupPolicySpec{
		PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{tenantCluster}},
		Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "0 0 29 2 *", Spread: &metav1.Duration{}}},
		Template:   backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{addonNamespace, chartName}},
		Storage: backupv1alpha1.BackupStorage{
			Bucket: backupStore, Region: storage.Region, Endpoint: storage.Endpoint, CARef: &backupv1alpha1.ConfigMapKey{Name: "storage-ca"},
			Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"},
		},
		Objectives: backupv1alpha1.PolicyObjectives{RecoveryObjectives: backupv1alpha1.RecoveryObjectives{
			RPO: &metav1.Duration{Duration: time.Hour}, RTO: &metav1.Duration{Duration: time.Minute},
		}},
	}}
	policy.Annotations = map[string]string{metav1alpha1.AnnotationBackupNow: "for the drill"}
	return policy, []client.Object{
		&corev1.Secret{ObjectMeta: named("storage"), StringData: map[string]string{"aws_access_key_id": storage.AccessKey, "aws_secret_access_key": storage.SecretKey}},
		&corev1.ConfigMap{ObjectMeta: named("storage-ca"), Data: map[string]string{"ca.crt": string(storage.CA)}},
		policy,
	}, nil
}

// drill rehearses the recovery of a customer's cluster, and waits until nothing is left of it.
func (s *story) drill(ctx context.Context, c customer) (*backupv1alpha1.DRDrill, error) {
	drill := &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace(), Name: drillName},
		Spec: backupv1alpha1.DRDrillSpec{
			PolicyName: backupName, ClusterRef: metav1alpha1.ClusterReference{Namespace: c.namespace(), Name: tenantCluster},
			DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
		},
	}
	return drill, s.screen.Do("rehearsing the recovery of "+c.name, func() (done, error) {
		start := time.Now()
		if err := s.env.Admin.Create(ctx, drill); err != nil {
			return done{}, err
		}
		err := await(ctx, func(ctx context.Context) (sight, error) {
			err := s.env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), drill)
			return sight{happened: drill.Status.FinishedAt != nil, seen: describe(drill.Status.Conditions, metav1alpha1.ConditionReady)}, err
		})
		if err == nil && drill.Status.Verdict != backupv1alpha1.DrillPassed {
			err = fmt.Errorf("the drill did not pass: %s", drill.Status.Message)
		}
		if err != nil {
			return done{}, err
		}
		s.figures.recovered = time.Since(start)
		return done{c.name + ": restored beside it, compared with the archive, ready, and removed again", s.figures.recovered}, nil
	})
}

// report makes a page of what a drill proves, and returns the file with it, which stays.
func (s *story) report(ctx context.Context, drill *backupv1alpha1.DRDrill) (string, error) {
	proof := drill.Status.Evidence
	kept := &corev1.ConfigMap{}
	if err := s.env.Admin.Get(ctx, client.ObjectKey{Namespace: drill.Namespace, Name: proof.ConfigMapName}, kept); err != nil {
		return "", fmt.Errorf("read the evidence of the drill: %w", err)
	}
	dir := filepath.Join(os.TempDir(), "daytwo-demo")
	document, page := filepath.Join(dir, "evidence.json"), filepath.Join(dir, "drill-report.html")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(document, []byte(kept.Data["evidence.json"]), 0o600)); err != nil {
		return "", err
	}
	output, err := exec.CommandContext(ctx, s.env.Manager.Binary(), "evidence", "report", "--head", proof.Hash, "--out", page, document).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make the report: %w: %s", err, output)
	}
	return page, nil
}

// clusterOptions of a customer's cluster: the first one's is backed up.
func (s *story) clusterOptions(c customer) localfleet.ClusterOptions {
	return localfleet.ClusterOptions{Velero: c == s.customers[0]}
}
