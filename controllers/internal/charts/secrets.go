package charts

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// CAKey is the key under which a Secret or ConfigMap holds the CA of a repository.
const CAKey = "ca.crt"

// CredentialsFromSecret returns the credentials for a repository. A Secret of type
// kubernetes.io/basic-auth, or Opaque, holds username and password; one of type
// kubernetes.io/dockerconfigjson an entry for the repository's host, or for a part of its path.
// Every error is an *Error that names the Secret and the key.
func CredentialsFromSecret(secret *corev1.Secret, repository string) (*Credentials, error) {
	var credentials *Credentials
	var err error
	switch secret.Type {
	case corev1.SecretTypeDockerConfigJson:
		credentials, err = fromDockerConfig(secret, repository)
	case corev1.SecretTypeBasicAuth, corev1.SecretTypeOpaque, "":
		credentials, err = fromBasicAuth(secret)
	default:
		return nil, invalidSource("Secret %s has the type %s: for a chart's repository it takes %s or %s",
			secret.Name, secret.Type, corev1.SecretTypeBasicAuth, corev1.SecretTypeDockerConfigJson)
	}
	if err != nil {
		return nil, err
	}
	if err := credentials.check(); err != nil {
		return nil, invalidSource("Secret %s: %s", secret.Name, err.Error())
	}
	return credentials, nil
}

func fromBasicAuth(secret *corev1.Secret) (*Credentials, error) {
	for _, key := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
		if len(secret.Data[key]) == 0 {
			return nil, invalidSource("Secret %s lacks the key %s: a chart's repository takes %s and %s",
				secret.Name, key, corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	}
	return &Credentials{
		Username: string(secret.Data[corev1.BasicAuthUsernameKey]),
		Password: string(secret.Data[corev1.BasicAuthPasswordKey]),
	}, nil
}

// dockerLogin is one entry of a Docker configuration's auths.
type dockerLogin struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"` // base64 of username:password
	IdentityToken string `json:"identitytoken"`
}

func fromDockerConfig(secret *corev1.Secret, repository string) (*Credentials, error) {
	const key = corev1.DockerConfigJsonKey
	if len(secret.Data[key]) == 0 {
		return nil, invalidSource("Secret %s lacks the key %s", secret.Name, key)
	}
	var config struct {
		Auths map[string]dockerLogin `json:"auths"`
	}
	// The parser's error is left out: it may quote the Secret.
	if err := json.Unmarshal(secret.Data[key], &config); err != nil {
		return nil, invalidSource("Secret %s: the key %s is not the JSON of a Docker configuration: make it with kubectl create secret docker-registry", secret.Name, key)
	}
	u, err := url.Parse(repository)
	if err != nil || u.Host == "" {
		return nil, invalidSource("the chart's repository is not a URL: write it as https://host/path or oci://host/path")
	}
	login, there := loginFor(config.Auths, u)
	if !there {
		return nil, invalidSource("Secret %s: the key %s has no entry in auths for %s: add one", secret.Name, key, u.Host)
	}
	credentials, there := login.credentials()
	if !there {
		return nil, invalidSource("Secret %s: the entry for %s in the key %s has no username and password; other ways to log in, like identity tokens, are not taken",
			secret.Name, u.Host, key)
	}
	return credentials, nil
}

// loginFor returns the entry whose name is the longest beginning of host/path, at a slash.
func loginFor(auths map[string]dockerLogin, repository *url.URL) (login dockerLogin, there bool) {
	longest := -1
	path := strings.ToLower(repository.Host) + "/" + strings.Trim(repository.Path, "/") + "/"
	for name, candidate := range auths {
		name = registryName(name)
		if strings.HasPrefix(path, name+"/") && len(name) > longest {
			login, there, longest = candidate, true, len(name)
		}
	}
	return login, there
}

// registryName brings the names that docker login and kubectl write into one form.
func registryName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	name = strings.ToLower(strings.TrimRight(name, "/"))
	switch name {
	case "index.docker.io/v1", "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return name
}

func (l dockerLogin) credentials() (*Credentials, bool) {
	credentials := &Credentials{Username: l.Username, Password: l.Password}
	if l.Auth != "" {
		decoded, err := base64.StdEncoding.DecodeString(l.Auth)
		if err != nil {
			return nil, false
		}
		credentials.Username, credentials.Password, _ = strings.Cut(string(decoded), ":")
	}
	return credentials, credentials.Username != "" && credentials.Password != ""
}

// check refuses what basic authentication (RFC 7617) cannot carry.
func (c *Credentials) check() error {
	switch {
	case c.Username == "" || c.Password == "":
		return invalidSource("username or password is empty: a chart's repository takes both")
	case strings.Contains(c.Username, ":"):
		return invalidSource("the username holds a colon, which basic authentication cannot carry")
	case strings.ContainsFunc(c.Username+c.Password, isControl):
		return invalidSource("username or password holds a line break or another control character: write it without one (printf rather than echo)")
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// CAFromSecret returns the PEM certificates under the key ca.crt. Every error is an *Error.
func CAFromSecret(secret *corev1.Secret) ([]byte, error) {
	pem := secret.Data[CAKey]
	if len(pem) == 0 {
		return nil, invalidSource("Secret %s lacks the key %s with the CA of a chart's repository", secret.Name, CAKey)
	}
	checked := &request{Source: Source{CA: pem}}
	if err := checked.checkTrust(); err != nil {
		return nil, invalidSource("Secret %s: the key %s holds no readable certificate: set it to PEM certificates", secret.Name, CAKey)
	}
	return pem, nil
}
