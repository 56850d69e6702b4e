package charts

import (
	"strings"
	"testing"
)

func TestDatabaseNeedsAPassword(t *testing.T) {
	if _, err := render(t, "database", FirstVersion, nil); err == nil || !strings.Contains(err.Error(), "set password") {
		t.Errorf("without a password: %v, want an error that asks for it", err)
	}
}

func TestDatabaseKeepsItsBackups(t *testing.T) {
	got := objects(t, rendered(t, "database", FirstVersion, values("database")).Manifest)
	claim := got["PersistentVolumeClaim/acme-database-backups"]
	if policy := dig(t, claim, "metadata", "annotations", "helm.sh/resource-policy"); policy != "keep" {
		t.Errorf("the policy is %v, want keep", policy)
	}
	templates := dig(t, got["StatefulSet/acme-database"], "spec", "volumeClaimTemplates")
	if templates == nil {
		t.Error("the StatefulSet has no volumes")
	}
}
