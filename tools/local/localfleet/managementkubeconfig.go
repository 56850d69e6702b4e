package localfleet

import (
	"fmt"
	"os"
	"path/filepath"
)

// ManagementKubeconfig returns the file with an administrator's kubeconfig of the management cluster of the fleet in a state
// directory. It returns ErrNoFleet if there is none.
func ManagementKubeconfig(stateDir string) (string, error) {
	root, err := filepath.Abs(stateDir)
	if err != nil {
		return "", err
	}
	file := paths{root: root}.kubeconfig(managementName)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s: %w", root, ErrNoFleet)
	}
	return file, nil
}
