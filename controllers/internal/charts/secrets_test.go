package charts

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func secret(kind corev1.SecretType, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, Type: kind, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func dockerConfig(auths string) *corev1.Secret {
	return secret(corev1.SecretTypeDockerConfigJson, map[string]string{".dockerconfigjson": `{"auths":` + auths + `}`})
}

func TestCredentialsAreFoundInASecret(t *testing.T) {
	plain := map[string]string{"username": "alice", "password": alice.Password}
	entry := `{"username": "alice", "password": "` + alice.Password + `"}`
	coded := `{"auth": "` + base64.StdEncoding.EncodeToString([]byte("alice:"+alice.Password)) + `"}`
	wrong := `{"username": "x", "password": "y"}`
	for name, test := range map[string]struct {
		secret     *corev1.Secret
		repository string
	}{
		"basic auth":       {secret(corev1.SecretTypeBasicAuth, plain), stable},
		"opaque":           {secret(corev1.SecretTypeOpaque, plain), library},
		"docker":           {dockerConfig(`{"registry.test": ` + entry + `, "other.test": ` + wrong + `}`), library},
		"docker, coded":    {dockerConfig(`{"https://REGISTRY.test/": ` + coded + `}`), library},
		"docker, path":     {dockerConfig(`{"registry.test": ` + wrong + `, "registry.test/library": ` + entry + `, "registry.test/lib": ` + wrong + `}`), library},
		"docker, port":     {dockerConfig(`{"registry.test": ` + wrong + `, "registry.test:5000": ` + entry + `}`), "oci://registry.test:5000/library"},
		"docker, https":    {dockerConfig(`{"charts.test": ` + entry + `}`), stable},
		"Docker Hub":       {dockerConfig(`{"https://index.docker.io/v1/": ` + entry + `}`), "oci://docker.io/alice"},
		"Docker Hub alias": {dockerConfig(`{"registry-1.docker.io": ` + entry + `}`), "oci://docker.io/alice"},
	} {
		credentials, err := CredentialsFromSecret(test.secret, test.repository)
		if err != nil || *credentials != *alice {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSecretThatCannotBeUsedSaysWhatIsMissing(t *testing.T) {
	for words, secret := range map[string]*corev1.Secret{
		"lacks the key password":            secret(corev1.SecretTypeBasicAuth, map[string]string{"username": "alice"}),
		"lacks the key username":            secret(corev1.SecretTypeBasicAuth, map[string]string{"password": alice.Password}),
		"lacks the key .dockerconfigjson":   secret(corev1.SecretTypeDockerConfigJson, nil),
		"has the type kubernetes.io/tls":    secret(corev1.SecretTypeTLS, nil),
		"is not the JSON":                   secret(corev1.SecretTypeDockerConfigJson, map[string]string{".dockerconfigjson": alice.Password}),
		"no entry in auths for charts.test": dockerConfig(`{"other.test": {"username": "a", "password": "` + alice.Password + `"}}`),
		"has no username and password":      dockerConfig(`{"charts.test": {"identitytoken": "` + alice.Password + `"}}`),
		"entry for charts.test in the key":  dockerConfig(`{"charts.test": {"auth": "%` + alice.Password + `"}}`),
		"line break":                        secret(corev1.SecretTypeBasicAuth, map[string]string{"username": "alice", "password": alice.Password + "\n"}),
		"colon":                             secret(corev1.SecretTypeBasicAuth, map[string]string{"username": "a:b", "password": alice.Password}),
	} {
		_, err := CredentialsFromSecret(secret, stable)
		refusedFor(t, err, InvalidSource, "Secret login", words)
	}
}

func TestCAIsFoundUnderItsKey(t *testing.T) {
	w := newEnv(t)
	fromSecret, err := CAFromSecret(secret(corev1.SecretTypeOpaque, map[string]string{"ca.crt": string(w.ca)}))
	if err != nil || string(fromSecret) != string(w.ca) {
		t.Errorf("got %v", err)
	}
	_, err = CAFromSecret(secret(corev1.SecretTypeOpaque, nil))
	refusedFor(t, err, InvalidSource, "Secret login lacks the key ca.crt")
	_, err = CAFromSecret(secret(corev1.SecretTypeOpaque, map[string]string{"ca.crt": "x"}))
	refusedFor(t, err, InvalidSource, "Secret login", "no readable certificate")
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	source := Source{Repository: stable, Credentials: alice}
	marshalled, err := json.Marshal(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		fmt.Sprintf("%v %+v %#v %s %q", alice, alice, alice, alice, alice), fmt.Sprintf("%v %+v %#v", *alice, *alice, *alice),
		fmt.Sprintf("%v %+v %#v", source, source, source), fmt.Sprint(alice.MarshalLog()), string(marshalled),
	} {
		if strings.Contains(printed, alice.Password) {
			t.Errorf("a credential was printed: %s", printed)
		}
	}
}

func TestFingerprintChangesWithEveryField(t *testing.T) {
	seen := map[string]string{}
	for name, source := range map[string]Source{
		"empty": {}, "repository": {Repository: "x"}, "name": {Name: "x"}, "version": {Version: "x"}, "digest": {Digest: "x"}, "CA": {CA: []byte("x")},
		"no credentials": {Repository: "y"}, "empty credentials": {Repository: "y", Credentials: &Credentials{}},
		"username": {Credentials: &Credentials{Username: "x"}}, "password": {Credentials: &Credentials{Password: "x"}},
	} {
		fingerprint := source.fingerprint()
		if other, taken := seen[fingerprint]; taken {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[fingerprint] = name
	}
}
