package pages

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Workspace is a directory in which commands find what they find in a checkout with a local fleet: config, .daytwo with
// kubeconfigs, and kubectl.
type Workspace struct{ dir string }

// NewWorkspace makes dir a workspace. Kubeconfigs have the names that they have in .daytwo, as in
// "clusters/workload-1.kubeconfig".
func NewWorkspace(dir, root, kubectl string, kubeconfigs map[string][]byte) (*Workspace, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return nil, err
	}
	for name, target := range map[string]string{"config": filepath.Join(root, "config"), "bin/kubectl": kubectl} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	for name, content := range kubeconfigs {
		path := filepath.Join(dir, ".daytwo", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	return &Workspace{dir: dir}, nil
}

// fleetPrograms speak to the local fleet alone.
var fleetPrograms = []string{"kubectl", "export"}

// starts returns an error for a block that starts other programs than these.
func (b Block) starts(programs ...string) error {
	for _, command := range b.Commands() {
		if !slices.Contains(programs, Program(command)) {
			return fmt.Errorf("%s: a block that is run starts make alone, or %v alone: give another class or a block of its own to %q", b, fleetPrograms, command)
		}
	}
	return nil
}

// Run runs the commands of a block in one shell, until one fails, and returns what they print. A block that prints
// nothing fails too: nothing would show that its commands work. Without --kubeconfig and without an export of KUBECONFIG
// they speak to the management cluster.
func (w *Workspace) Run(ctx context.Context, block Block) (string, error) {
	if err := block.starts(fleetPrograms...); err != nil {
		return "", err
	}
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", block.Text)
	shell.Dir = w.dir
	shell.Env = []string{
		"PATH=" + filepath.Join(w.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + w.dir, "KUBECONFIG=" + filepath.Join(w.dir, ".daytwo", "management.kubeconfig"),
	}
	var output, failure bytes.Buffer
	shell.Stdout, shell.Stderr = &output, &failure
	if err := shell.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", block, err, &output, &failure)
	}
	if output.Len() == 0 {
		return "", fmt.Errorf("%s: the commands print nothing, but: %s", block, &failure)
	}
	return output.String(), nil
}

// UsesMake tells whether a block starts make, which a Workspace does not run: TestMakeTargetsExist tries it.
func (b Block) UsesMake() bool {
	return slices.ContainsFunc(b.Commands(), func(command string) bool { return Program(command) == "make" })
}
