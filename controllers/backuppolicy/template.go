package backuppolicy

import (
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupcontent"
)

// checkTemplate returns what is wrong with what a backup is to hold; nil for nothing.
func checkTemplate(template backupv1alpha1.BackupTemplate) *Problem {
	if policies := template.ResourcePolicies; policies != nil {
		if _, err := backupcontent.ResourcePoliciesFile(*policies); err != nil {
			return &Problem{"spec.template.resourcePolicies", err.Error()}
		}
	}
	return nil
}
