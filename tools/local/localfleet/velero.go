package localfleet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/daytwo-dev/daytwo/tools/local/internal/component"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const (
	veleroPlugin = "velero-plugin-for-aws"
	// veleroNamespace is that of Velero's releases.
	veleroNamespace = "velero"
	// veleroUser is the service account of Velero's releases.
	veleroUser = "system:serviceaccount:velero:velero"
)

// veleroInstallation is what Velero expects to find in its cluster beside its definitions.
//
//go:embed velero/installation.yaml
var veleroInstallation []byte

// statusRequests are how a client asks whether a Velero server is there.
var statusRequests = schema.GroupVersionResource{Group: "velero.io", Version: "v1", Resource: "serverstatusrequests"}

// KillVelero ends the cluster's Velero server without a warning (SIGKILL), with the plugins that it runs, and waits until
// it is gone.
func (c *Cluster) KillVelero(ctx context.Context) error {
	p, running := c.lookup(velero)
	if !running {
		return fmt.Errorf("the Velero server of %s does not run; start it first", c.name)
	}
	return p.KillGroup(ctx)
}

// StartVelero starts the cluster's Velero server unless it runs, and waits until it answers. The fleet must have been
// started with Options.Velero.
func (c *Cluster) StartVelero(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasVelero() {
		return fmt.Errorf("%s has no Velero server: start the fleet with Velero first", c.name)
	}
	return c.startVelero(ctx)
}

func (c *Cluster) hasVelero() bool { return c.runsPods() && c.Options().Velero }

// addVelero lets a cluster that was there before have a server too.
func (f *Fleet) addVelero(cluster *Cluster) error {
	options := cluster.Options()
	options.Velero = true
	return f.recordOptions(cluster, options)
}

func (c *Cluster) startVelero(ctx context.Context) error {
	if err := c.InstallVelero(ctx); err != nil {
		return fmt.Errorf("install Velero into %s: %w", c.name, err)
	}
	server, err := c.veleroProgram(ctx)
	if err != nil {
		return err
	}
	p, err := c.fleet.ensure(ctx, server)
	if err != nil {
		return err
	}
	return c.waitForVelero(ctx, p)
}

// InstallVelero creates Velero's kinds and its namespace in the cluster, as startVelero does. A server is not needed for that.
func (c *Cluster) InstallVelero(ctx context.Context) error {
	dir, err := c.fleet.components.Files(ctx, component.VeleroCRDs)
	if err != nil {
		return err
	}
	definitions, err := manifests.Load(dir)
	if err != nil {
		return err
	}
	installation, err := manifests.Parse(veleroInstallation)
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, c.config, slices.Concat(definitions, installation))
}

// maxSocketDir is how long the path of a directory may be in which a plugin makes a socket such as /plugin1234567890: Linux
// has room for 107 bytes (unix(7)).
const maxSocketDir = 107 - 17

// veleroProgram has a home and a temporary directory of its own, since that is where Velero keeps credentials and what a
// backup is made of.
func (c *Cluster) veleroProgram(ctx context.Context) (program, error) {
	plugin, err := c.fleet.components.Binary(ctx, veleroPlugin)
	if err != nil {
		return program{}, err
	}
	home := c.fleet.paths.velero(c.name)
	temporary := filepath.Join(home, "tmp")
	if len(temporary) > maxSocketDir {
		return program{}, fmt.Errorf("the directory of the local fleet is too long for the sockets of Velero's plugins, by %d bytes: choose another one with --state-dir", len(temporary)-maxSocketDir)
	}
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return program{}, err
	}
	kubeconfig, err := c.veleroKubeconfig(home)
	if err != nil {
		return program{}, err
	}
	return program{
		name:   c.program(velero),
		binary: velero,
		args: []string{
			"server",
			"--kubeconfig=" + kubeconfig,
			"--namespace=" + veleroNamespace,
			"--plugin-dir=" + filepath.Dir(plugin),
			"--metrics-address=127.0.0.1:0",
			"--profiler-address=",
			"--client-qps=1000",
			"--client-burst=2000",
		},
		// What a person is to AWS comes before the credentials of a location.
		env: []string{"HOME=" + home, "TMPDIR=" + temporary, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_SESSION_TOKEN=", "AWS_PROFILE="},
	}, nil
}

func (c *Cluster) veleroKubeconfig(dir string) (path string, err error) {
	path = filepath.Join(dir, programKubeconfigFile(velero))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	kubeconfig, err := c.KubeconfigFor(veleroUser, []string{mastersGroup}, credentialsLifetime)
	if err != nil {
		return "", err
	}
	return path, writeFile(path, kubeconfig)
}

// waitForVelero asks the server for its version until it has answered, as velero version does.
func (c *Cluster) waitForVelero(ctx context.Context, server *process.Process) error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	requests := client.Resource(statusRequests).Namespace(veleroNamespace)
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": statusRequests.GroupVersion().String(),
		"kind":       "ServerStatusRequest",
		"metadata":   map[string]any{"generateName": "local-fleet-"},
		"spec":       map[string]any{},
	}}
	request, err = requests.Create(ctx, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	answered := func(ctx context.Context) error {
		asked, err := requests.Get(ctx, request.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(asked.Object, "status", "phase"); phase != "Processed" {
			return errors.New("it has not told its version")
		}
		return nil
	}
	if err := waitReady(ctx, answered, server); err != nil {
		return err
	}
	err = requests.Delete(ctx, request.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
