package component

import (
	"fmt"
	"os"
	"path/filepath"
)

// FindSource returns the directory of the component modules: the one named
// tools/local/components in the working directory, in the program's own
// directory, or in a directory above one of these.
//
// It is looked for rather than embedded, because Go embeds nothing out of
// another module, and these modules are to be kept current by the usual tools.
func FindSource() (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if executable, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(executable))
	}
	for _, start := range starts {
		if dir, ok := findAbove(start); ok {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no tools/local/components in or above %v: run this inside a clone of the repository", starts)
}

func findAbove(start string) (string, bool) {
	for dir := start; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, "tools", "local", "components")
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			return candidate, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}
