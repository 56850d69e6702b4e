package localfleet

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/daytwo-dev/daytwo/tools/local/internal/pki"
)

// Credentials of the fleet's own programs and its administrator are made once.
const credentialsLifetime = 365 * 24 * time.Hour

// mastersGroup may do everything; no role takes it away.
const mastersGroup = "system:masters"

// Files of a cluster's credentials.
const (
	authorityName         = "ca"
	servingName           = "kube-apiserver"
	serviceAccountKeyFile = "service-account.key"
	adminKubeconfigFile   = "admin.kubeconfig"
)

// Files of a server's certificate, under the names that a manager looks for.
const (
	serverCertificateFile = "tls.crt"
	serverKeyFile         = "tls.key"
)

// credentials are the keys of one cluster. Its programs read them as files.
type credentials struct {
	dir        string
	authority  *pki.Authority
	kubeconfig []byte
}

// openCredentials reads the cluster's credentials, or makes them. They appear in
// dir all at once, so a starter that is killed leaves no half of them.
func openCredentials(dir, cluster, server string) (*credentials, error) {
	if _, err := os.Stat(dir); err != nil {
		temporary := dir + ".new"
		if err := createCredentials(temporary, cluster, server); err != nil {
			return nil, fmt.Errorf("create credentials of %s: %w", cluster, err)
		}
		if err := os.Rename(temporary, dir); err != nil {
			return nil, err
		}
	}
	pair, err := readPair(dir, authorityName)
	if err != nil {
		return nil, err
	}
	authority, err := pki.ParseAuthority(pair)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	kubeconfig, err := os.ReadFile(filepath.Join(dir, adminKubeconfigFile))
	return &credentials{dir: dir, authority: authority, kubeconfig: kubeconfig}, err
}

func createCredentials(dir, cluster, server string) error {
	authority, err := pki.NewAuthority(cluster)
	if err != nil {
		return err
	}
	serving, err := authority.IssueServing(
		[]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		net.ParseIP(firstServiceIP))
	if err != nil {
		return err
	}
	serviceAccountKey, err := pki.NewKey()
	if err != nil {
		return err
	}
	if err := writePair(dir, authorityName, authority.KeyPair); err != nil {
		return err
	}
	if err := writePair(dir, servingName, serving); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, serviceAccountKeyFile), serviceAccountKey); err != nil {
		return err
	}
	return writeKubeconfigs(dir, cluster, server, authority)
}

// writeKubeconfigs makes one for the administrator and one for each program, so
// that requests can be told apart. All are in the group that may do everything:
// a program of a real cluster has narrower roles, which only its own bugs meet.
func writeKubeconfigs(dir, cluster, server string, authority *pki.Authority) error {
	users := map[string]string{
		adminKubeconfigFile:                "kubernetes-admin",
		programKubeconfigFile(controllers): "system:kube-controller-manager",
		programKubeconfigFile(scheduler):   "system:kube-scheduler",
		programKubeconfigFile(kwok):        "system:kwok",
	}
	for file, user := range users {
		content, err := issueKubeconfig(authority, cluster, server, user, []string{mastersGroup}, credentialsLifetime)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, file), content); err != nil {
			return err
		}
	}
	return nil
}

func programKubeconfigFile(program string) string {
	return program + ".kubeconfig"
}

// issueKubeconfig returns a kubeconfig with everything embedded.
func issueKubeconfig(
	authority *pki.Authority, cluster, server, user string, groups []string, ttl time.Duration,
) ([]byte, error) {
	pair, err := authority.IssueClient(user, groups, ttl)
	if err != nil {
		return nil, err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority.Certificate}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key}
	config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	config.CurrentContext = cluster
	return clientcmd.Write(*config)
}

// createServerCredentials makes an authority for one of the fleet's own servers, and a certificate of it, once.
func (f *Fleet) createServerCredentials(server string) error {
	dir := f.paths.pki(server)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	files, err := serverCredentials(server)
	if err != nil {
		return fmt.Errorf("create the certificate of %s: %w", server, err)
	}
	return writeDir(dir, files)
}

func serverCredentials(server string) (map[string][]byte, error) {
	authority, err := pki.NewAuthority(server)
	if err != nil {
		return nil, err
	}
	serving, err := authority.IssueServing(nil)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		certificateFile(authorityName): authority.Certificate,
		serverCertificateFile:          serving.Certificate,
		serverKeyFile:                  serving.Key,
	}, nil
}

// writeDir writes a directory of private files as a whole or not at all.
func writeDir(dir string, files map[string][]byte) error {
	temporary := dir + ".new"
	for name, content := range files {
		if err := writeFile(filepath.Join(temporary, name), content); err != nil {
			return err
		}
	}
	return os.Rename(temporary, dir)
}

func (c *credentials) file(name string) string {
	return filepath.Join(c.dir, name)
}

func certificateFile(name string) string { return name + ".crt" }

func keyFile(name string) string { return name + ".key" }

func writePair(dir, name string, pair pki.KeyPair) error {
	if err := writeFile(filepath.Join(dir, certificateFile(name)), pair.Certificate); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, keyFile(name)), pair.Key)
}

func readPair(dir, name string) (pki.KeyPair, error) {
	root := os.DirFS(dir)
	certificate, err := fs.ReadFile(root, certificateFile(name))
	if err != nil {
		return pki.KeyPair{}, err
	}
	key, err := fs.ReadFile(root, keyFile(name))
	return pki.KeyPair{Certificate: certificate, Key: key}, err
}
