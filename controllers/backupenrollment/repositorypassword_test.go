package backupenrollment

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

func TestARepositoryPasswordThatDoesNotProtectIsRefused(t *testing.T) {
	enrollment := &backupv1alpha1.BackupEnrollment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme"}}
	enrollment.Spec.RepositoryPassword = &metav1alpha1.SecretKeyReference{Name: "repository", Key: "password"}
	for name, test := range map[string]struct {
		data map[string][]byte
		// password is what Velero gets, problem what a person has to mend.
		password, problem string
	}{
		"a good one":        {map[string][]byte{"password": []byte("correct horse battery\n")}, "correct horse battery", ""},
		"no Secret":         {nil, "", "there is no Secret acme/repository"},
		"another key":       {map[string][]byte{"value": []byte("correct horse battery")}, "", "key password of Secret acme/repository holds no password"},
		"spaces":            {map[string][]byte{"password": []byte("                    ")}, "", "holds no password"},
		"a short one":       {map[string][]byte{"password": []byte("fifteen letters")}, "", "shorter than 16"},
		"a long one":        {map[string][]byte{"password": []byte(strings.Repeat("secret", 200))}, "", "longer than 1024"},
		"Velero's":          {map[string][]byte{"password": []byte("static-passw0rd\n")}, "", "the password that Velero publishes"},
		"one of two lines":  {map[string][]byte{"password": []byte("correct horse\nbattery staple")}, "", "line break"},
		"one that is bytes": {map[string][]byte{"password": append([]byte("correct horse battery"), 0, 1)}, "", "control character"},
	} {
		var there []client.Object
		if test.data != nil {
			there = append(there, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "repository"}, Data: test.data})
		}
		read, err := readPassword(t.Context(), fake.NewClientBuilder().WithObjects(there...).Build(), enrollment)
		if test.problem == "" {
			if err != nil || read.Value != test.password || read.Version == "" {
				t.Errorf("%s: %q, %v", name, read.Value, err)
			}
			continue
		}
		var verdict *target.Verdict
		if !errors.As(err, &verdict) || !verdict.Stalled || verdict.Reason != backupv1alpha1.ReasonRepositoryPasswordInvalid || !strings.Contains(verdict.Message, test.problem) {
			t.Errorf("%s: %v, not %q", name, err, test.problem)
		}
		if err != nil && strings.Contains(err.Error(), strings.TrimSpace(string(test.data["password"]))) && strings.TrimSpace(string(test.data["password"])) != "" {
			t.Errorf("%s: the message tells the password: %v", name, err)
		}
	}
}
