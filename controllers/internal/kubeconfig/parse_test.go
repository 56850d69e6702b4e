package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const secretValue = "s3cr3t-v4lue"

// file returns a kubeconfig whose current context leads to the cluster and user with these
// fields, each a line of YAML, beside entries that nobody may look at.
func file(cluster, user []string) string {
	const indented = "\n    "
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: main
contexts:
- {name: main, context: {cluster: acme, user: admin}}
- {name: other, context: {cluster: insecure, user: plugin}}
clusters:
- name: acme
  cluster:
    %s
- {name: insecure, cluster: {server: "http://insecure", insecure-skip-tls-verify: true}}
users:
- name: admin
  user:
    %s
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: rm}}}
`, strings.Join(cluster, indented), strings.Join(user, indented))
}

var (
	goodCluster = []string{`server: "https://api.acme.example:6443"`}
	goodUser    = []string{"token: " + secretValue}
)

func TestParseRefuses(t *testing.T) {
	certPEM, keyPEM := newPair(t, time.Now().Add(time.Hour))
	_, otherKeyPEM := newPair(t, time.Now().Add(time.Hour))
	encode := base64.StdEncoding.EncodeToString
	cluster := func(line string) string { return file(append(slices.Clone(goodCluster), line), goodUser) }
	server := func(url string) string { return file([]string{"server: " + url}, goodUser) }
	user := func(lines ...string) string { return file(goodCluster, append(slices.Clone(goodUser), lines...)) }
	onlyUser := func(lines ...string) string { return file(goodCluster, lines) }
	replace := func(old, new string) string { return strings.Replace(file(goodCluster, goodUser), old, new, 1) }

	for name, test := range map[string]struct{ raw, field string }{
		"exec plugin":                 {user("exec: {apiVersion: client.authentication.k8s.io/v1, command: rm}"), "users[admin].exec"},
		"auth provider":               {user("auth-provider: {name: gcp}"), "users[admin].auth-provider"},
		"client certificate file":     {user("client-certificate: /etc/hostname"), "users[admin].client-certificate"},
		"client key file":             {user("client-key: /etc/hostname"), "users[admin].client-key"},
		"token file":                  {user("tokenFile: /var/run/secrets/token"), "users[admin].tokenFile"},
		"user name":                   {user("username: admin"), "users[admin].username"},
		"password":                    {user("password: " + secretValue), "users[admin].password"},
		"impersonated user":           {user("as: root"), "users[admin].as"},
		"impersonated uid":            {user("as-uid: root"), "users[admin].as-uid"},
		"impersonated groups":         {user("as-groups: [system:masters]"), "users[admin].as-groups"},
		"impersonated extra":          {user("as-user-extra: {a: [b]}"), "users[admin].as-user-extra"},
		"no credentials":              {onlyUser("{}"), "users[admin]"},
		"token on two lines":          {onlyUser(`token: "` + secretValue + `\nX: y"`), "users[admin].token"},
		"certificate without key":     {user("client-certificate-data: " + encode(certPEM)), "users[admin].client-key-data"},
		"key without certificate":     {user("client-key-data: " + encode(keyPEM)), "users[admin].client-certificate-data"},
		"key of another certificate":  {user("client-certificate-data: "+encode(certPEM), "client-key-data: "+encode(otherKeyPEM)), "users[admin].client-certificate-data"},
		"unreadable certificate":      {user("client-certificate-data: "+encode([]byte(secretValue)), "client-key-data: "+encode(keyPEM)), "users[admin].client-certificate-data"},
		"CA file":                     {cluster("certificate-authority: /etc/hostname"), "clusters[acme].certificate-authority"},
		"unreadable CA":               {cluster("certificate-authority-data: " + encode([]byte("x"))), "clusters[acme].certificate-authority-data"},
		"certificate check off":       {cluster("insecure-skip-tls-verify: true"), "clusters[acme].insecure-skip-tls-verify"},
		"proxy":                       {cluster(`proxy-url: "http://proxy"`), "clusters[acme].proxy-url"},
		"http":                        {server(`"http://api.acme.example"`), "clusters[acme].server"},
		"no scheme":                   {server(`"api.acme.example:6443"`), "clusters[acme].server"},
		"a long URL":                  {server(`"https://` + strings.Repeat("h", 2048) + `"`), "clusters[acme].server"},
		"no host":                     {server(`"https://"`), "clusters[acme].server"},
		"no server":                   {file([]string{"{}"}, goodUser), "clusters[acme].server"},
		"password in server":          {server(`"https://admin:` + secretValue + `@api"`), "clusters[acme].server"},
		"query in server":             {server(`"https://api?x=y"`), "clusters[acme].server"},
		"server that is no URL":       {server(`"https://[` + secretValue + `"`), "clusters[acme].server"},
		"no current context":          {replace("current-context: main", ""), "current-context"},
		"dangling current context":    {replace("current-context: main", "current-context: gone"), "current-context"},
		"context of no known cluster": {replace("cluster: acme", "cluster: gone"), "contexts[main].context.cluster"},
		"context of no known user":    {replace("user: admin", "user: gone"), "contexts[main].context.user"},
		"empty":                       {"", "current-context"},
		"unparsable":                  {"users:\n- name: [" + secretValue, ""},
		"unparsable base64":           {cluster("certificate-authority-data: '" + secretValue + "!'"), ""},
		"another kind":                {"apiVersion: v1\nkind: Secret\nstringData: {a: " + secretValue + "}", ""},
		"unknown anchor":              {onlyUser("token: *" + secretValue), ""},
		"alias":                       {onlyUser("token: &a "+secretValue, "username: *a"), ""},
		"oversized":                   {"# " + strings.Repeat("x", MaxBytes), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.raw), Options{})
			var refused *RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("got error %v, want a RefusedError", err)
			}
			if refused.Field != test.field {
				t.Errorf("field is %q, want %q (%v)", refused.Field, test.field, err)
			}
			if refused.Problem == "" || refused.Remedy == "" {
				t.Errorf("%q must say what is wrong and what to do", err)
			}
			if strings.Contains(err.Error(), secretValue) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestParseRefusesAnAliasBomb(t *testing.T) {
	bomb := "current-context: &a " + strings.Repeat("x", MaxBytes/4) + "\npreferences: [" + strings.Repeat("*a, ", MaxBytes/8) + "]\n"
	if _, err := Parse([]byte(bomb), Options{}); err == nil || !strings.Contains(err.Error(), "alias") {
		t.Errorf("got error %v, want one about aliases", err)
	}
}

func TestParseKeepsOnlyWhatTheCurrentContextNames(t *testing.T) {
	certPEM, keyPEM := newPair(t, time.Now().Add(time.Hour))
	encode := base64.StdEncoding.EncodeToString
	raw := file(
		append(slices.Clone(goodCluster), "tls-server-name: api.internal", "certificate-authority-data: "+encode(certPEM)),
		append(slices.Clone(goodUser), "client-certificate-data: "+encode(certPEM), "client-key-data: "+encode(keyPEM)),
	)
	access, err := Parse([]byte(raw), Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := access.RESTConfig()
	if config.Host != "https://api.acme.example:6443" || config.ServerName != "api.internal" ||
		string(config.CAData) != string(certPEM) || string(config.CertData) != string(certPEM) ||
		string(config.KeyData) != string(keyPEM) || config.BearerToken != secretValue || config.QPS != -1 {
		t.Errorf("the configuration lost something: %s", config)
	}
	if _, err := rest.HTTPClientFor(config); err != nil {
		t.Errorf("client-go does not accept the configuration: %v", err)
	}
}

func TestParseKeepsAPermittedProxy(t *testing.T) {
	for url, accepted := range map[string]bool{
		"http://proxy:3128": true, "https://proxy": true, "socks5://proxy:1080": true,
		"file:///etc/passwd": false, "http://": false, "http://[": false,
	} {
		access, err := Parse([]byte(file(append(slices.Clone(goodCluster), `proxy-url: "`+url+`"`), goodUser)), Options{AllowProxyURL: true})
		if (err == nil) != accepted {
			t.Errorf("%s: got error %v", url, err)
			continue
		}
		if !accepted {
			continue
		}
		if proxy, err := access.RESTConfig().Proxy(nil); err != nil || proxy.String() != url {
			t.Errorf("%s: the proxy became %v, %v", url, proxy, err)
		}
	}
}

// FuzzParse holds that nothing panics, and that nothing accepted makes client-go read a file,
// run a program, skip a check or act as somebody else.
func FuzzParse(f *testing.F) {
	f.Add([]byte(file(goodCluster, goodUser)))
	f.Add([]byte(file(append(slices.Clone(goodCluster), "insecure-skip-tls-verify: true"), goodUser)))
	f.Add([]byte(`{"current-context":"a","contexts":[{"name":"a"}],"clusters":[null],"users":[{"name":""}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		access, err := Parse(raw, Options{AllowProxyURL: true})
		if err != nil {
			return
		}
		config := access.RESTConfig()
		files := config.CAFile + config.CertFile + config.KeyFile + config.BearerTokenFile
		if files != "" || config.ExecProvider != nil || config.AuthProvider != nil || config.Insecure ||
			config.Username != "" || config.Password != "" || config.Impersonate.UserName != "" ||
			!strings.HasPrefix(strings.ToLower(config.Host), "https://") {
			t.Errorf("accepted %q", raw)
		}
		access.ExpiresAt()
	})
}
