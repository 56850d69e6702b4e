package kubeconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

// MaxBytes is the size, in bytes, beyond which a kubeconfig is refused unread. Real ones with
// embedded certificates take 5 to 10 KiB.
const MaxBytes = 64 * 1024

// Options says what the operator of the manager permits beyond the default.
type Options struct {
	// AllowProxyURL accepts a cluster's proxy-url with scheme http, https or socks5. It lets the
	// kubeconfig's author choose a host that the manager connects to first.
	AllowProxyURL bool
}

// RefusedError says why a kubeconfig is not used. It holds no value from the kubeconfig except
// the names of its entries.
type RefusedError struct {
	// Field is the path of the offending field, like `users[acme].exec`; empty if the whole file is at fault.
	Field string
	// Problem says what is wrong with it.
	Problem string
	// Remedy says what to do instead.
	Remedy string
}

// Error joins field, problem and remedy to one sentence.
func (e *RefusedError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("kubeconfig %s: %s", e.Problem, e.Remedy)
	}
	return fmt.Sprintf("kubeconfig field %s %s: %s", e.Field, e.Problem, e.Remedy)
}

// Parse checks a kubeconfig and strips it to what its current-context needs. Every error is a
// *RefusedError, and trying again with the same bytes is of no use.
func Parse(raw []byte, opts Options) (Access, error) {
	if len(raw) > MaxBytes {
		return Access{}, &RefusedError{
			Problem: fmt.Sprintf("has %d bytes, more than %d", len(raw), MaxBytes),
			Remedy:  "keep only the entries that current-context names (kubectl config view --minify --flatten --raw)",
		}
	}
	config, err := load(raw)
	if err != nil {
		return Access{}, err
	}
	current, err := selectCurrent(config)
	if err != nil {
		return Access{}, err
	}
	if err := current.check(opts); err != nil {
		return Access{}, err
	}
	return Access{
		Server:        current.cluster.Server,
		TLSServerName: current.cluster.TLSServerName,
		CAData:        current.cluster.CertificateAuthorityData,
		ProxyURL:      current.cluster.ProxyURL,
		CertData:      current.user.ClientCertificateData,
		KeyData:       current.user.ClientKeyData,
		Token:         current.user.Token,
	}, nil
}

// load decodes the file. An alias is refused before anything expands it: 64 KiB of them can
// stand for gigabytes.
func load(raw []byte) (*clientcmdapi.Config, error) {
	if !json.Valid(raw) {
		switch _, err := untrusted.ParseYAML(raw); {
		case errors.Is(err, untrusted.ErrAlias):
			return nil, &RefusedError{Problem: "uses a YAML alias", Remedy: "write the value out where it is used"}
		case err != nil:
			return nil, unparsable(err)
		}
	}
	config, err := clientcmd.Load(raw)
	if err != nil {
		return nil, unparsable(err)
	}
	return config, nil
}

var errorLine = regexp.MustCompile(`\bline (\d+):`)

// unparsable keeps no more of a decoder's message than the line: the rest may quote the file.
func unparsable(err error) error {
	problem := "cannot be read as a kubeconfig (apiVersion v1, kind Config)"
	if match := errorLine.FindStringSubmatch(err.Error()); match != nil {
		problem = fmt.Sprintf("cannot be read: line %s is not valid YAML", match[1])
	}
	return &RefusedError{Problem: problem, Remedy: "check it with kubectl --kubeconfig FILE config view"}
}

// selection is the pair of entries that current-context names.
type selection struct {
	clusterName string
	cluster     *clientcmdapi.Cluster
	userName    string
	user        *clientcmdapi.AuthInfo
}

func selectCurrent(config *clientcmdapi.Config) (selection, error) {
	name := config.CurrentContext
	if name == "" {
		return selection{}, &RefusedError{Field: "current-context", Problem: "is missing", Remedy: "set it to the context to use"}
	}
	current := config.Contexts[name]
	if current == nil {
		return selection{}, dangling("current-context", "contexts", name)
	}
	path := fmt.Sprintf("contexts[%s].context", name)
	cluster := config.Clusters[current.Cluster]
	if cluster == nil {
		return selection{}, dangling(path+".cluster", "clusters", current.Cluster)
	}
	user := config.AuthInfos[current.AuthInfo]
	if user == nil {
		return selection{}, dangling(path+".user", "users", current.AuthInfo)
	}
	return selection{clusterName: current.Cluster, cluster: cluster, userName: current.AuthInfo, user: user}, nil
}

func dangling(field, list, name string) error {
	return &RefusedError{
		Field:   field,
		Problem: fmt.Sprintf("names %q, which %s does not have", name, list),
		Remedy:  fmt.Sprintf("add an entry of that name to %s, or name one that is there", list),
	}
}
