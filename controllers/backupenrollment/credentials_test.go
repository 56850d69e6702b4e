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
	"github.com/daytwo-dev/daytwo/controllers/internal/target"
)

func TestCredentialsAreRead(t *testing.T) {
	enrollment := &backupv1alpha1.BackupEnrollment{ObjectMeta: metav1.ObjectMeta{Namespace: "acme"}, Spec: backupv1alpha1.BackupEnrollmentSpec{CredentialsSecret: "storage-prod"}}
	for name, test := range map[string]struct {
		data map[string]string
		// file is what Velero reads, problem what a person has to mend.
		file, problem string
	}{
		"a key pair": {
			map[string]string{"aws_access_key_id": "AK", "aws_secret_access_key": "sec/ret+\n"}, "[default]\naws_access_key_id=AK\naws_secret_access_key=sec/ret+\n", "",
		},
		"a session": {
			map[string]string{"aws_access_key_id": "AK", "aws_secret_access_key": "S", "aws_session_token": "T", "other": "x"},
			"[default]\naws_access_key_id=AK\naws_secret_access_key=S\naws_session_token=T\n", "",
		},
		"half a pair":       {map[string]string{"aws_access_key_id": "AK"}, "", "acme/storage-prod lacks the key aws_secret_access_key"},
		"another section":   {map[string]string{"aws_access_key_id": "AK\n[other]", "aws_secret_access_key": "S"}, "", "aws_access_key_id of Secret acme/storage-prod has a space or a line break"},
		"nothing":           {nil, "", "there is no Secret acme/storage-prod"},
		"an empty password": {map[string]string{"aws_access_key_id": "AK", "aws_secret_access_key": " "}, "", "lacks the key aws_secret_access_key"},
	} {
		var there []client.Object
		if test.data != nil {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "storage-prod"}, Data: map[string][]byte{}}
			for key, value := range test.data {
				secret.Data[key] = []byte(value)
			}
			there = append(there, secret)
		}
		read, err := readCredentials(t.Context(), fake.NewClientBuilder().WithObjects(there...).Build(), enrollment)
		if test.problem == "" {
			if err != nil || read.File != test.file || read.Version == "" {
				t.Errorf("%s: %q, %v", name, read.File, err)
			}
			continue
		}
		var verdict *target.Verdict
		if !errors.As(err, &verdict) || !verdict.Stalled || !strings.Contains(verdict.Message, test.problem) {
			t.Errorf("%s: %v, not %q", name, err, test.problem)
		}
		if strings.Contains(err.Error(), "AK") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}
