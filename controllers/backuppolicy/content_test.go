package backuppolicy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

func policyWith(cron, zone string, spread, ttl time.Duration) *backupv1alpha1.BackupPolicy {
	return &backupv1alpha1.BackupPolicy{Spec: backupv1alpha1.BackupPolicySpec{
		Schedule:  backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: cron, TimeZone: zone, Spread: &metav1.Duration{Duration: spread}}},
		Retention: backupv1alpha1.BackupRetention{TTL: &metav1.Duration{Duration: ttl}},
	}}
}

// closed is a policy with a blackout, behind one that is as it should be.
func closed(expression, zone string, duration time.Duration) *backupv1alpha1.BackupPolicy {
	policy := policyWith("@daily", "", 0, 30*24*time.Hour)
	policy.Spec.Schedule.Blackouts = []metav1alpha1.RecurringWindow{
		{Schedule: "@daily", Duration: metav1.Duration{Duration: time.Hour}},
		{Schedule: expression, TimeZone: zone, Duration: metav1.Duration{Duration: duration}},
	}
	return policy
}

// with is a policy whose template has resource policies.
func with(policies ...backupv1alpha1.VolumePolicy) *backupv1alpha1.BackupPolicy {
	policy := policyWith("@daily", "", 0, 30*24*time.Hour)
	policy.Spec.Template.ResourcePolicies = &backupv1alpha1.ResourcePolicies{VolumePolicies: policies}
	return policy
}

// moved is a policy that moves the data of snapshots into the storage.
func moved(password *backupv1alpha1.RepositoryPasswordRef) *backupv1alpha1.BackupPolicy {
	policy := policyWith("@daily", "", 0, 30*24*time.Hour)
	policy.Spec.Template.SnapshotMoveData, policy.Spec.Storage.RepositoryPasswordRef = ptr.To(true), password
	return policy
}

func TestWhatAPolicyCannotDoIsRefused(t *testing.T) {
	const month = 30 * 24 * time.Hour
	now := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		policy *backupv1alpha1.BackupPolicy
		// field and word are of the refusal; empty for none.
		field, word string
	}{
		"nightly for a month":         {policyWith("0 2 * * *", "Europe/Berlin", time.Hour, month), "", ""},
		"twice a day for half a year": {policyWith("0 2,14 * * *", "", time.Hour, 6*month), "", ""},
		"400 with the one that stays": {policyWith("@hourly", "", time.Hour, 399*time.Hour), "", ""},
		"one more":                    {policyWith("@hourly", "", time.Hour, 400*time.Hour), "spec.retention.ttl", "with the 1 of keepLast"},
		"hourly for a month":          {policyWith("@hourly", "", time.Hour, month), "spec.retention.ttl", "more than 400 backups"},
		"no cron":                     {policyWith("often", "", 0, month), "spec.schedule.cron", "minute 0-59"},
		"no zone":                     {policyWith("@daily", "Atlantis", 0, month), "spec.schedule.timeZone", "IANA"},
		"over the end of a month":     {policyWith("30 23 1 * *", "", time.Hour, month), "spec.schedule.cron", "day of the month"},
		"a blackout on Saturdays":     {closed("0 8 * * 6", "Europe/Berlin", 10*time.Hour), "", ""},
		"a blackout without a time":   {closed("often", "", time.Hour), "spec.schedule.blackouts[1].schedule", "minute 0-59"},
		"a blackout without a zone":   {closed("@daily", "Atlantis", time.Hour), "spec.schedule.blackouts[1].timeZone", "IANA"},
		"a blackout without a length": {closed("@daily", "", 0), "spec.schedule.blackouts[1].duration", "1m to 168h"},
		"a volume policy":             {with(backupv1alpha1.VolumePolicy{Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.SkipVolume}}), "", ""},
		"files without a password":    {with(backupv1alpha1.VolumePolicy{Action: backupv1alpha1.VolumeAction{Type: backupv1alpha1.FsBackupVolume}}), "spec.storage.repositoryPasswordRef", "known to everybody"},
		"moved without a password":    {moved(nil), "spec.storage.repositoryPasswordRef", "known to everybody"},
		"moved with a password":       {moved(&backupv1alpha1.RepositoryPasswordRef{SecretName: "repository"}), "", ""},
		"a volume policy for nothing": {with(backupv1alpha1.VolumePolicy{}), "spec.template.resourcePolicies", "volumePolicies[0].action.type"},
	} {
		problem := Checker{}.Check(test.policy, now)
		switch {
		case test.field == "" && problem != nil:
			t.Errorf("%s: %+v", name, problem)
		case test.field != "" && (problem == nil || problem.Field != test.field || !strings.Contains(problem.Message, test.word)):
			t.Errorf("%s: %+v, not %s: %s", name, problem, test.field, test.word)
		}
	}
}

func TestEachClusterHasTheSecretThatIsNamedAfterIt(t *testing.T) {
	policy := policyWith("@daily", "", 0, time.Hour)
	policy.Spec.Storage.Credentials.SecretName = "s3-{{ .Cluster.Namespace }}-{{ .Cluster.Name }}"
	target := &backupv1alpha1.BackupEnrollment{}
	target.Spec.ClusterRef = metav1alpha1.ClusterReference{Namespace: "acme", Name: "prod"}
	r := &Reconciler{}
	if r.SettingsCurrent(target, policy) {
		t.Error("a target without settings is current")
	}
	r.SyncSettings(target, policy)
	if target.Spec.CredentialsSecret != "s3-acme-prod" || target.Spec.DrillCredentialsSecret != "" || !r.SettingsCurrent(target, policy) {
		t.Errorf("got %+v", target.Spec)
	}
	policy.Spec.Storage.DrillCredentials = &backupv1alpha1.StorageCredentials{SecretName: "drills-{{ .Cluster.Namespace }}"}
	if r.SyncSettings(target, policy); target.Spec.DrillCredentialsSecret != "drills-acme" {
		t.Errorf("got %+v", target.Spec)
	}
	if target.Spec.ClusterRef.Name != "prod" {
		t.Error("the settings took the place of the rest")
	}
}

func TestPlansThatCannotBeKeptAreRefused(t *testing.T) {
	weekly := backupv1alpha1.DrillPlan{Name: "weekly", Schedule: backupv1alpha1.Recurrence{Cron: "0 6 * * 1"}}
	shared := weekly
	shared.Share = ptr.To[int32](25)
	odd := weekly
	odd.Windows = []metav1alpha1.RecurringWindow{{Schedule: "often", Duration: metav1.Duration{Duration: time.Hour}}}
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		plans  []backupv1alpha1.DrillPlan
		maxAge time.Duration
		field  string
	}{
		"once a week for two weeks":          {[]backupv1alpha1.DrillPlan{weekly}, 14 * day, ""},
		"once in four weeks for two":         {[]backupv1alpha1.DrillPlan{shared}, 14 * day, "spec.drills"},
		"once in four weeks for five":        {[]backupv1alpha1.DrillPlan{shared}, 35 * day, ""},
		"one of two comes often enough":      {[]backupv1alpha1.DrillPlan{shared, weekly}, 14 * day, ""},
		"no objective":                       {[]backupv1alpha1.DrillPlan{shared}, 0, ""},
		"an objective, and people make them": {nil, day, ""},
		"a window that cannot be read":       {[]backupv1alpha1.DrillPlan{weekly, odd}, 0, "spec.drills[1].windows[0].schedule"},
	} {
		policy := policyWith("@daily", "", 0, 30*day)
		policy.Spec.Drills = test.plans
		if test.maxAge > 0 {
			policy.Spec.Objectives.MaxDrillAge = &metav1.Duration{Duration: test.maxAge}
		}
		problem := Checker{}.Check(policy, midnight)
		if (problem == nil) != (test.field == "") || problem != nil && problem.Field != test.field {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}

func TestHooksNeedThePermissionOfTheProvider(t *testing.T) {
	policy := policyWith("@daily", "", 0, 30*24*time.Hour)
	policy.Spec.Template.Hooks = &backupv1alpha1.BackupHooks{}
	problem := Checker{}.Check(policy, midnight)
	if problem == nil || problem.Field != "spec.template.hooks" || !strings.Contains(problem.Message, "--allow-backup-hooks") {
		t.Errorf("got %+v", problem)
	}
	content, err := (&Reconciler{}).Content(t.Context(), policy, midnight)
	if err != nil || content.Stall == nil || !strings.HasPrefix(content.Stall.Message, "spec.template.hooks: ") {
		t.Errorf("the controller says %+v, %v", content.Stall, err)
	}
	if problem := (Checker{AllowBackupHooks: true}).Check(policy, midnight); problem != nil {
		t.Errorf("got %+v", problem)
	}
}
