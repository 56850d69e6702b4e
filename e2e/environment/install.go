package environment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

const module = "github.com/daytwo-dev/daytwo"

// installed are the files and directories of the repository that make a cluster the manager's, in
// the order in which they are applied.
func installed() []string {
	return []string{"config/manager/namespace.yaml", "config/crd/bases", "config/rbac", "config/admission"}
}

// webhooks are the configurations of the manager's webhooks.
const webhooks = "config/webhook/validating.yaml"

func install(ctx context.Context, fleet *localfleet.Fleet, root string) error {
	for _, path := range installed() {
		objects, err := manifests.Load(filepath.Join(root, path))
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := manifests.Apply(ctx, fleet.Management().Config(), objects); err != nil {
			return fmt.Errorf("install %s: %w", path, err)
		}
	}
	configurations, err := manifests.Load(filepath.Join(root, webhooks))
	if err != nil {
		return fmt.Errorf("read %s: %w", webhooks, err)
	}
	_, err = fleet.InstallWebhooks(ctx, configurations)
	return err
}

// repositoryRoot is the directory of this module, in which or below which the program runs.
func repositoryRoot() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module "+module+"\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of %s: run this from there, since it applies its config directory", working, module)
		}
	}
}

// BinaryVariable is the environment variable with the path of a manager that is up to date: make test builds it once for
// all packages, where each would link its own.
const BinaryVariable = "DAYTWO_MANAGER"

// managerBinary is what is asked for, or else what BinaryVariable names, or else built into dir.
func managerBinary(ctx context.Context, root, dir, asked string) (string, error) {
	binary := cmp.Or(asked, os.Getenv(BinaryVariable))
	if binary == "" {
		binary = filepath.Join(dir, "daytwo")
		return binary, build(ctx, root, binary)
	}
	// go test runs a test again whose files changed, if it sees that they are looked at.
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("find the manager: %w", err)
	}
	return binary, nil
}

func build(ctx context.Context, root, binary string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	command.Dir = root
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the manager: %w\n%s", err, bytes.TrimSpace(output))
	}
	return nil
}
