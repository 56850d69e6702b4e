package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
)

const (
	enrollmentsRow = "enrollments_1000_memory"
	// enrolledClusters and enrolledPolicies make for 1,000 enrollments, each with enrolledBackups that have ended.
	enrolledClusters = 20
	enrolledPolicies = 50
	enrolledBackups  = 10
)

// enrollments measures the manager's memory for an enrollment, beside the JSON of the objects that it watches for it. The
// clusters have Velero's kinds and no server, since 20 of those would have the machine for themselves.
func (b *bench) enrollments(ctx context.Context) (results []result, err error) {
	env, err := environment.Start(ctx, environment.Options{
		StateDir: b.stateDir + "-enrollments", Clusters: enrolledClusters, Bare: true, Manager: b.manager, Progress: b.out,
		ManagerArgs: []string{"--leader-election=off", "--allow-private-storage"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	own := &bench{options: b.options, out: b.out, env: env, fleet: env.Fleet.Clusters()}
	e := &enrolled{bench: own, workloads: map[string]client.Client{}}
	if err := e.register(ctx); err != nil {
		return nil, err
	}
	before, err := own.managerUsage(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.enroll(ctx); err != nil {
		return nil, err
	}
	bytes, err := e.backUp(ctx)
	if err != nil {
		return nil, err
	}
	after, err := own.managerUsage(ctx)
	if err != nil {
		return nil, err
	}
	const count = enrolledClusters * enrolledPolicies
	b.progressf("before: %s; with %d enrollments: %s; their objects: %d KiB of JSON", before, count, after, bytes>>10)
	return []result{newResult(enrollmentsRow, "KiB", (after.total()-before.total())/count, float64(bytes)/1024/count)}, nil
}

// enrolled is a fleet whose clusters have Velero's kinds.
type enrolled struct {
	*bench
	workloads map[string]client.Client
}

func (e *enrolled) register(ctx context.Context) error {
	for _, cluster := range e.fleet {
		if err := cluster.InstallVelero(ctx); err != nil {
			return err
		}
		workload, err := e.env.Workload(cluster.Name())
		if err != nil {
			return err
		}
		e.workloads[cluster.Name()] = workload
		if err := e.env.Register(ctx, fleetNamespace, cluster.Name(), nil); err != nil {
			return err
		}
	}
	return e.until(ctx, 100*time.Millisecond, func(now metrics) bool {
		return now.total("daytwo_cluster_connected", isOne) == enrolledClusters
	})
}

// enroll waits until Velero has its objects in all clusters.
func (e *enrolled) enroll(ctx context.Context) error {
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: "storage"}, StringData: map[string]string{"aws_access_key_id": "nobody", "aws_secret_access_key": "none"},
	}
	if err := e.env.Admin.Create(ctx, credentials); err != nil {
		return err
	}
	for i := range enrolledPolicies {
		policy := &backupv1alpha1.BackupPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: fmt.Sprintf("policy-%d", i)}, Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterSelector: &metav1.LabelSelector{}},
			Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "0 0 29 2 *", Spread: &metav1.Duration{}}},
			Storage:    backupv1alpha1.BackupStorage{Bucket: "nowhere", Region: "nowhere", Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"}},
		}}
		policy.Spec.Rollout.MaxConcurrent = enrolledClusters
		if err := e.env.Admin.Create(ctx, policy); err != nil {
			return err
		}
	}
	return await(ctx, func(ctx context.Context) (bool, error) {
		list, err := e.list(ctx)
		applied := 0
		for i := range list.Items {
			if len(list.Items[i].Status.Inventory) == 3 {
				applied++
			}
		}
		return applied == enrolledClusters*enrolledPolicies, err
	})
}

func (e *enrolled) list(ctx context.Context) (*backupv1alpha1.BackupEnrollmentList, error) {
	list := &backupv1alpha1.BackupEnrollmentList{}
	return list, e.env.Admin.List(ctx, list, client.InNamespace(fleetNamespace))
}

// backUp makes the Backups, waits until all are told of, and returns how long the JSON of everything is.
func (e *enrolled) backUp(ctx context.Context) (bytes int, err error) {
	list, err := e.list(ctx)
	if err != nil {
		return 0, err
	}
	group, making := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for i := range list.Items {
		group.Go(func() error { return e.makeBackups(making, &list.Items[i]) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	err = await(ctx, func(ctx context.Context) (bool, error) {
		list, err = e.list(ctx)
		told := 0
		for i := range list.Items {
			if list.Items[i].Status.LastSuccessful != nil && len(list.Items[i].Status.Runs) == enrolledBackups {
				told++
			}
		}
		return told == enrolledClusters*enrolledPolicies, err
	})
	if err != nil {
		return 0, err
	}
	return e.size(ctx, list)
}

func (e *enrolled) makeBackups(ctx context.Context, enrollment *backupv1alpha1.BackupEnrollment) error {
	velero := enrollment.Status.Velero
	for day := range enrolledBackups {
		at := metav1.NewTime(time.Now().AddDate(0, 0, -day))
		backup := &velerov1.Backup{
			TypeMeta: metav1.TypeMeta{APIVersion: velerov1.SchemeGroupVersion.String(), Kind: "Backup"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: velero.Namespace, Name: fmt.Sprintf("%s-%d", velero.Name, day),
				Labels: map[string]string{metav1alpha1.LabelBackup: velero.Name, velerov1.StorageLocationLabel: velero.Name},
			},
			Status: velerov1.BackupStatus{
				Phase: velerov1.BackupPhaseCompleted, FormatVersion: "1.1.0", StartTimestamp: &at, CompletionTimestamp: &at, Expiration: &metav1.Time{Time: at.AddDate(0, 1, 0)},
				Progress: &velerov1.BackupProgress{TotalItems: 1000, ItemsBackedUp: 1000},
			},
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(backup)
		if err != nil {
			return err
		}
		if err := e.workloads[enrollment.Spec.ClusterRef.Name].Create(ctx, &unstructured.Unstructured{Object: content}); err != nil {
			return err
		}
	}
	return nil
}

// size is how long the JSON is of enrollments and of Velero's objects for them.
func (e *enrolled) size(ctx context.Context, list *backupv1alpha1.BackupEnrollmentList) (bytes int, err error) {
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
		text, err := json.Marshal(&list.Items[i])
		if err != nil {
			return 0, err
		}
		bytes += len(text)
	}
	for _, workload := range e.workloads {
		for _, kind := range []string{"Backup", "Schedule", "BackupStorageLocation"} {
			found := &unstructured.UnstructuredList{}
			found.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind(kind + "List"))
			if err := workload.List(ctx, found); err != nil {
				return 0, err
			}
			for i := range found.Items {
				found.Items[i].SetManagedFields(nil)
				text, err := found.Items[i].MarshalJSON()
				if err != nil {
					return 0, err
				}
				bytes += len(text)
			}
		}
	}
	return bytes, nil
}
