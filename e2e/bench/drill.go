package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/environment"
)

const (
	drillRow = "drill_1000"
	// drillRounds are fewer than those of other rows: Velero takes seconds for each.
	drillRounds = 3
	// drilledObjects is how many objects the backup has, beside those that every namespace has by itself.
	drilledObjects = 1000
	// drilled is the workload cluster, the namespace and the bucket.
	drilled = "drilled"
)

// drills measures how long a drill takes from its creation to its verdict. The floor is Velero's restore of the same backup
// into another namespace, which compares nothing.
func (b *bench) drills(ctx context.Context) (results []result, err error) {
	env, err := environment.Start(ctx, environment.Options{
		StateDir: b.stateDir + "-drill", Clusters: 1, Velero: true, Manager: b.manager, Progress: b.out,
		ManagerArgs: []string{"--leader-election=off", "--allow-private-storage"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	r, err := newRehearsals(ctx, env)
	if err != nil {
		return nil, err
	}
	var ours, floors []float64
	for round := range drillRounds {
		bare, err := r.restore(ctx, round)
		if err != nil {
			return nil, err
		}
		took, err := r.drill(ctx, round)
		if err != nil {
			return nil, err
		}
		b.progressf("round %d: drilled after %.1f s, restored after %.1f s", round, took.Seconds(), bare.Seconds())
		ours, floors = append(ours, took.Seconds()), append(floors, bare.Seconds())
	}
	return []result{newResult(drillRow, "s", median(ours), median(floors))}, nil
}

// rehearsals are made of one backup.
type rehearsals struct {
	env      *environment.Environment
	workload client.Client
	backup   string
}

func newRehearsals(ctx context.Context, env *environment.Environment) (*rehearsals, error) {
	const cluster = "workload-1"
	workload, err := env.Workload(cluster)
	if err != nil {
		return nil, err
	}
	r := &rehearsals{env: env, workload: workload}
	if err := r.fill(ctx); err != nil {
		return nil, err
	}
	if err := env.Register(ctx, fleetNamespace, cluster, nil); err != nil {
		return nil, err
	}
	return r, r.backUp(ctx, cluster)
}

// fill makes what is backed up.
func (r *rehearsals) fill(ctx context.Context) error {
	if err := r.workload.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: drilled}}); err != nil {
		return err
	}
	for i := range drilledObjects {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: drilled, Name: fmt.Sprintf("object-%d", i)}, Data: map[string]string{"value": fmt.Sprint(i)},
		}
		if err := r.workload.Create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func (r *rehearsals) backUp(ctx context.Context, cluster string) error {
	storage, err := r.env.Fleet.Storage()
	if err != nil {
		return err
	}
	if _, err := r.env.Fleet.CreateBucket(drilled); err != nil {
		return err
	}
	named := metav1.ObjectMeta{Namespace: fleetNamespace, Name: drilled}
	policy := &backupv1alpha1.BackupPolicy{ObjectMeta: named, Spec: backupv1alpha1.BackupPolicySpec{
		PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{cluster}},
		Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "0 0 29 2 *", Spread: &metav1.Duration{}}},
		Template:   backupv1alpha1.BackupTemplate{IncludedNamespaces: []string{drilled}},
		Storage: backupv1alpha1.BackupStorage{
			Bucket: drilled, Region: storage.Region, Endpoint: storage.Endpoint, CARef: &backupv1alpha1.ConfigMapKey{Name: drilled},
			Credentials: backupv1alpha1.StorageCredentials{SecretName: drilled},
		},
	}}
	policy.Annotations = map[string]string{metav1alpha1.AnnotationBackupNow: "now"}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: named, StringData: map[string]string{"aws_access_key_id": storage.AccessKey, "aws_secret_access_key": storage.SecretKey}},
		&corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"ca.crt": string(storage.CA)}},
		policy,
	} {
		if err := r.env.Admin.Create(ctx, object); err != nil {
			return err
		}
	}
	return await(ctx, func(ctx context.Context) (bool, error) {
		list := &backupv1alpha1.BackupEnrollmentList{}
		err := r.env.Admin.List(ctx, list, client.InNamespace(fleetNamespace))
		if err != nil || len(list.Items) == 0 || list.Items[0].Status.LastSuccessful == nil {
			return false, err
		}
		r.backup = list.Items[0].Status.LastSuccessful.Name
		return true, nil
	})
}

// restore has Velero restore the backup, and removes what came of it.
func (r *rehearsals) restore(ctx context.Context, round int) (time.Duration, error) {
	into := fmt.Sprintf("restored-%d", round)
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"backupName": r.backup, "includedNamespaces": []any{drilled}, "namespaceMapping": map[string]any{drilled: into}, "includeClusterResources": false,
	}}}
	made.SetAPIVersion(velerov1.SchemeGroupVersion.String())
	made.SetKind("Restore")
	made.SetNamespace("velero")
	made.SetName(into)
	start := time.Now()
	if err := r.workload.Create(ctx, made); err != nil {
		return 0, err
	}
	err := await(ctx, func(ctx context.Context) (bool, error) {
		err := r.workload.Get(ctx, client.ObjectKeyFromObject(made), made)
		phase, _, _ := unstructured.NestedString(made.Object, "status", "phase")
		return phase == string(velerov1.RestorePhaseCompleted), err
	})
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("restore %s: %w", into, err)
	}
	return took, remove(ctx, r.workload, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: into}})
}

// drill makes a drill, waits for its verdict, and then until nothing is left of it.
func (r *rehearsals) drill(ctx context.Context, round int) (time.Duration, error) {
	drill := &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace, Name: fmt.Sprintf("drill-%d", round)},
		Spec: backupv1alpha1.DRDrillSpec{
			PolicyName: drilled, ClusterRef: metav1alpha1.ClusterReference{Namespace: fleetNamespace, Name: "workload-1"},
			DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}},
		},
	}
	start := time.Now()
	if err := r.env.Admin.Create(ctx, drill); err != nil {
		return 0, err
	}
	err := await(ctx, func(ctx context.Context) (bool, error) {
		err := r.env.Admin.Get(ctx, client.ObjectKeyFromObject(drill), drill)
		return drill.Status.Outcome != "", err
	})
	took := time.Since(start)
	if err != nil || drill.Status.Verdict != backupv1alpha1.DrillPassed {
		return 0, fmt.Errorf("drill %s is %q: %s: %w", drill.Name, drill.Status.Verdict, drill.Status.Message, err)
	}
	return took, remove(ctx, r.env.Admin, drill)
}

// remove deletes an object, and waits until it is gone.
func remove(ctx context.Context, from client.Client, object client.Object) error {
	if err := from.Delete(ctx, object); err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) (bool, error) {
		err := from.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func await(ctx context.Context, look wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, look)
}
