package backupenrollment

import (
	"errors"
	"strings"
	"testing"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

func TestARepositoryPasswordIsSetOnlyWhereNothingIsLost(t *testing.T) {
	const ours, other, repository, weekly = "correct horse battery", "another password that is long", "velero/shop-default-kopia", "BackupPolicy acme/weekly"
	for name, test := range map[string]struct {
		found    repositorySecret
		declares bool
		// words of the refusal; none if there is none.
		words []string
	}{
		"a new cluster":                        {repositorySecret{}, true, nil},
		"the Secret is gone":                   {repositorySecret{Held: repositorypassword.Held{Repository: repository}}, true, nil},
		"Velero's own, without repositories":   {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: repositorypassword.Published}}, true, nil},
		"Velero's own, with repositories":      {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: repositorypassword.Published, Repository: repository}}, false, []string{repository, "publishes", "delete the backups"}},
		"the same, made by hand":               {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: ours, Repository: repository}}, true, nil},
		"a changed one, without repositories":  {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: other}}, true, nil},
		"a changed one, with repositories":     {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: other, Repository: repository}}, false, []string{repository, "key password of Secret acme/repository", "put the old password back"}},
		"applied, and changed by somebody":     {repositorySecret{applied: true}, true, nil},
		"of another policy, the same Secret":   {repositorySecret{shared: true}, false, nil},
		"of another policy, the same password": {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: ours, Owner: weekly, Repository: repository}}, false, nil},
		"of another policy, another password":  {repositorySecret{Held: repositorypassword.Held{UID: "1", Password: other, Owner: weekly}}, false, []string{weekly, "name the same password"}},
		"of another policy, and not there yet": {repositorySecret{Held: repositorypassword.Held{Owner: weekly}}, false, []string{weekly}},
		"without the key, with repositories":   {repositorySecret{Held: repositorypassword.Held{UID: "1", Repository: repository}}, false, []string{repository}},
	} {
		wanted := repositorypassword.Password{Value: ours, Source: "key password of Secret acme/repository"}
		declares, err := test.found.declares(wanted, "velero/velero-repo-credentials")
		if declares != test.declares || (err == nil) != (len(test.words) == 0) {
			t.Errorf("%s: %t, %v", name, declares, err)
			continue
		}
		if err == nil {
			continue
		}
		var verdict *target.Verdict
		if !errors.As(err, &verdict) || !verdict.Stalled || verdict.Reason != backupv1alpha1.ReasonRepositoryPasswordConflict || !awaitsPassword(err) {
			t.Errorf("%s: %v", name, err)
		}
		for _, word := range test.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", name, err, word)
			}
		}
		for _, secret := range []string{ours, other, repositorypassword.Published} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the message tells a password: %v", name, err)
			}
		}
	}
}

func TestThePasswordIsLookedAtAgain(t *testing.T) {
	own := &backupv1alpha1.VeleroObjects{RepositoryPasswordVersion: "7"}
	for name, test := range map[string]struct {
		seen seenPassword
		want bool
	}{
		"nothing new":           {seenPassword{version: "7"}, false},
		"another version":       {seenPassword{version: "8"}, true},
		"the policy names none": {seenPassword{}, true},
		"it shares the Secret":  {seenPassword{version: "7", notKept: true}, true},
	} {
		if got := test.seen.isDue(own); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
