package drdrill

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/run"
	"github.com/daytwo-dev/daytwo/controllers/internal/times"
	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// Keys of a ConfigMap with evidence.
const (
	evidenceKey = "evidence.json"
	// signatureKey is there if the manager has a key to sign with.
	signatureKey = "evidence.json.sig"
)

// writeEvidence is the task that keeps what a drill proves in a ConfigMap, chained to what the drill before it proved.
func (r *Reconciler) writeEvidence(ctx context.Context, v view) (func(*backupv1alpha1.DRDrillStatus), error) {
	drill := v.Run
	enrollment, err := enrollmentOf(ctx, r.Room.APIReader, drill)
	switch {
	case err != nil:
		return nil, err
	case enrollment == nil:
		return nil, refuse("BackupPolicy %s/%s has no BackupEnrollment for the cluster any more, which holds the end of the chain", drill.Namespace, drill.Spec.PolicyName)
	}
	previous, err := r.chainHead(ctx, drill, enrollment.Status.Evidence)
	if err != nil {
		return nil, err
	}
	content, err := documentOf(drill, previous).Encode()
	if err != nil {
		return nil, err
	}
	name := evidenceName(drill)
	if err := r.keep(ctx, drill, name, string(content)); err != nil {
		return nil, err
	}
	return func(status *backupv1alpha1.DRDrillStatus) {
		status.Evidence = &backupv1alpha1.DrillEvidence{
			ConfigMapName: name, Hash: evidence.Hash(content), Previous: previous, Copy: copyFor(drill, enrollment.Spec.Evidence),
		}
	}, nil
}

// chainHead is the newest hash of the evidence of a drill's backups. Drills of the same backups are never under way at the
// same time, so what the enrollment has not seen yet follows from what they recorded.
func (r *Reconciler) chainHead(ctx context.Context, drill *backupv1alpha1.DRDrill, recorded *backupv1alpha1.EvidenceChain) (string, error) {
	list := &backupv1alpha1.DRDrillList{}
	if err := r.Room.APIReader.List(ctx, list, client.InNamespace(drill.Namespace)); err != nil {
		return "", fmt.Errorf("list the DRDrills: %w", err)
	}
	var others []backupv1alpha1.DRDrill
	for i := range list.Items {
		if list.Items[i].UID != drill.UID && sameBackups(&list.Items[i], drill) {
			others = append(others, list.Items[i])
		}
	}
	return backupv1alpha1.FollowEvidence(recorded, others).Head, nil
}

// sameBackups is whether two drills of a namespace restore backups of one policy and cluster.
func sameBackups(a, b *backupv1alpha1.DRDrill) bool {
	return a.Spec.PolicyName == b.Spec.PolicyName && a.Spec.ClusterRef == b.Spec.ClusterRef
}

// keep creates the ConfigMap. One that is there already, with the same content, is from before the manager died.
func (r *Reconciler) keep(ctx context.Context, drill *backupv1alpha1.DRDrill, name, content string) error {
	made := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: drill.Namespace, Name: name, Labels: map[string]string{
			metav1alpha1.LabelPolicy: drill.Spec.PolicyName, metav1alpha1.LabelCluster: drill.Spec.ClusterRef.Name,
			metav1alpha1.LabelClusterNamespace: drill.Spec.ClusterRef.Namespace,
		}},
		Data: map[string]string{evidenceKey: content}, Immutable: ptr.To(true),
	}
	if r.Signer != nil {
		made.Data[signatureKey] = r.Signer.Sign([]byte(content))
	}
	err := r.Room.Client.Create(ctx, made)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &corev1.ConfigMap{}
	if err := r.Room.APIReader.Get(ctx, client.ObjectKeyFromObject(made), found); err != nil {
		return err
	}
	if found.Data[evidenceKey] != content {
		return refuse("ConfigMap %s/%s is there already, and holds something else", drill.Namespace, name)
	}
	return nil
}

// maxConfigMapName is how long the name of a ConfigMap may be.
const maxConfigMapName = 253

func evidenceName(drill *backupv1alpha1.DRDrill) string {
	return objects.ShortName(maxConfigMapName, drill.Name+"-evidence", string(drill.UID))
}

// documentOf a drill holds what its status tells, and nothing that changes from one try to the next.
func documentOf(drill *backupv1alpha1.DRDrill, previous string) evidence.Document {
	status := &drill.Status
	document := evidence.Document{
		Previous: previous, Verdict: string(status.Verdict),
		Drill: evidence.Drill{
			Namespace: drill.Namespace, Name: drill.Name, UID: string(drill.UID), Policy: drill.Spec.PolicyName, StartedAt: status.StartedAt.UTC(),
			Mode: string(drill.Spec.Mode), RequestedBy: drill.Spec.RequestedBy,
		},
		Backup:   evidence.Backup{Cluster: run.Key(drill.Spec.ClusterRef).String()},
		Restored: evidence.Target{Cluster: targetKey(drill).String(), Mode: string(drill.Spec.Target.Mode), LeftOut: status.LeftOut, Namespaces: map[string]string{}},
		DataAge:  text(status.DataAge), RestoreTime: text(status.RestoreTime), RecoveryTime: text(status.RecoveryTime),
		RPO: text(status.Objectives.RPO), RTO: text(status.Objectives.RTO),
	}
	if source := status.Source; source != nil {
		document.Backup.Name, document.Backup.Items, document.Backup.Prefix = source.Backup, source.Items, source.Prefix
		document.Backup.TakenAt = ptr.To(source.TakenAt.UTC())
	}
	for _, namespace := range status.Namespaces {
		document.Restored.Namespaces[namespace.Name] = namespace.RestoredAs
	}
	for _, one := range status.Checks {
		document.Checks = append(document.Checks, evidence.Check{Name: one.Name, Result: string(one.Result), Message: one.Message})
	}
	for _, a := range status.Actions {
		document.Restored.ClusterID = a.ClusterID
		document.Timeline = append(document.Timeline, step(a.Name, a.Object, a.StartedAt, a.EndedAt, a.Outcome))
	}
	for _, t := range status.Tasks {
		if t.Name != taskEvidence && t.Name != taskCopy {
			document.Timeline = append(document.Timeline, step(t.Name, "", t.StartedAt, t.EndedAt, t.Outcome))
		}
	}
	if waited, ok := readinessStep(status); ok {
		document.Timeline = append(document.Timeline, waited)
	}
	slices.SortStableFunc(document.Timeline, func(a, b evidence.Step) int { return a.StartedAt.Compare(b.StartedAt) })
	return document
}

// readinessStep is the wait for workloads, from the end of the comparison until whatever began next. It is false if they were
// not waited for.
func readinessStep(status *backupv1alpha1.DRDrillStatus) (evidence.Step, bool) {
	verified := status.Task(taskVerify)
	ready := slices.IndexFunc(status.Checks, func(one backupv1alpha1.DrillCheck) bool { return one.Name == backupv1alpha1.CheckReadiness })
	if verified == nil || verified.EndedAt == nil || ready < 0 {
		return evidence.Step{}, false
	}
	waited := evidence.Step{Name: "await-readiness", StartedAt: verified.EndedAt.UTC(), Outcome: string(metav1alpha1.ActionTimedOut)}
	if status.Checks[ready].Result == backupv1alpha1.CheckPassed {
		waited.Outcome = string(metav1alpha1.ActionSucceeded)
	}
	var next time.Time
	for _, a := range status.Actions {
		next = earliestSince(waited.StartedAt, next, a.StartedAt.Time)
	}
	for _, t := range status.Tasks {
		next = earliestSince(waited.StartedAt, next, t.StartedAt.Time)
	}
	if !next.IsZero() {
		waited.EndedAt = ptr.To(next.UTC())
	}
	return waited, true
}

// earliestSince is the earlier of two times that are not before another one; zero is none.
func earliestSince(since, a, b time.Time) time.Time {
	if b.Before(since) {
		return a
	}
	return times.Earliest(a, b)
}

func step(name, object string, started metav1.Time, ended *metav1.Time, outcome metav1alpha1.ActionOutcome) evidence.Step {
	one := evidence.Step{Name: name, Object: object, StartedAt: started.UTC(), Outcome: string(outcome)}
	if ended != nil {
		one.EndedAt = ptr.To(ended.UTC())
	}
	return one
}

// text of a duration; empty for none.
func text(duration *metav1.Duration) string {
	if duration == nil {
		return ""
	}
	return duration.Duration.String()
}
