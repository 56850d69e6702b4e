// Package samplecharts stands in for the chart repositories on the internet that config/samples names, so that the
// samples work in a local fleet without internet.
package samplecharts

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/daytwo-dev/daytwo/tools/local/chartarchive"
)

// repository is the one that config/samples names, and name and version are those of the chart that stands in there.
const (
	repository = "oci://ghcr.io/stefanprodan/charts"
	name       = "podinfo"
	version    = "6.0.0"
)

//go:embed podinfo
var sources embed.FS

// Write packs the charts into a directory, and returns the manager's argument that makes the directory a mirror of the
// repository.
func Write(directory string) (managerArg string, err error) {
	directory, err = filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	archive, err := pack()
	if err != nil {
		return "", fmt.Errorf("pack the sample chart: %w", err)
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(directory, name+"-"+version+".tgz"), archive, 0o600); err != nil {
		return "", err
	}
	return "--chart-mirrors=" + repository + "=" + directory, nil
}

func pack() ([]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(sources, name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, name+"/")], err = sources.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return chartarchive.Pack(name, files)
}
