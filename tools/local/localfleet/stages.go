package localfleet

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

// ownStages are stages of pods' lives that KWOK does not bring, or not as they have to be.
//
//go:embed stages/*.yaml
var ownStages embed.FS

// writeStages puts them into a directory, and returns their files.
func writeStages(dir string) ([]string, error) {
	dir = filepath.Join(dir, "stages")
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove KWOK's former stages: %w", err)
	}
	if err := os.CopyFS(filepath.Dir(dir), ownStages); err != nil {
		return nil, fmt.Errorf("write KWOK's stages: %w", err)
	}
	return filepath.Glob(filepath.Join(dir, "*.yaml"))
}
