package charts

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/daytwo-dev/daytwo/tools/local/chartarchive"
)

// Versions of each chart.
const (
	FirstVersion  = "1.0.0"
	SecondVersion = "1.1.0"
)

// overlays is the directory of a chart that holds what later versions lay over it.
const overlays = "versions"

//go:embed all:certificate all:crds all:database all:hooks all:umbrella all:web
var sources embed.FS

// Names of all charts, sorted.
func Names() []string {
	return []string{"certificate", "crds", "database", "hooks", "umbrella", "web"}
}

// Versions of every chart, the oldest first.
func Versions() []string { return []string{FirstVersion, SecondVersion} }

// Archive packs a chart as helm package does. The same name and version always give the same bytes.
func Archive(name, version string) ([]byte, error) {
	files, err := contents(name, version)
	if err != nil {
		return nil, err
	}
	return chartarchive.Pack(name, files)
}

// contents are a version's files by their paths below the chart.
func contents(name, version string) (map[string][]byte, error) {
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("there is no chart %q; there are: %s", name, strings.Join(Names(), ", "))
	}
	if !slices.Contains(Versions(), version) {
		return nil, fmt.Errorf("chart %s has no version %q; there are: %s", name, version, strings.Join(Versions(), ", "))
	}
	files := map[string][]byte{}
	if err := read(files, name); err != nil {
		return nil, err
	}
	if version == FirstVersion {
		return files, nil
	}
	return files, read(files, path.Join(name, overlays, version))
}

// read lays a directory's files over those that are there already.
func read(files map[string][]byte, dir string) error {
	return fs.WalkDir(sources, dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative := strings.TrimPrefix(file, dir+"/")
		if entry.IsDir() {
			if relative == overlays {
				return fs.SkipDir
			}
			return nil
		}
		content, err := sources.ReadFile(file)
		if err != nil {
			return err
		}
		if len(content) == 0 {
			delete(files, relative)
			return nil
		}
		files[relative] = content
		return nil
	})
}
