package component

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ownVersion is the version of programs that are built from this module.
const ownVersion = "source"

// ownPackages is what the import paths of the modules in tools/local/components begin with.
const ownPackages = "github.com/daytwo-dev/daytwo/tools/local/components/"

// versionIn returns the component's version. For a program of the module in dir
// itself it also returns a fingerprint of the sources.
func (c component) versionIn(dir string, goMod []byte) (version string, own []byte, err error) {
	if c.module == "" {
		own, err = fingerprint(filepath.Join(dir, "local"))
		return ownVersion, own, err
	}
	if version, err = requiredVersion(goMod, c.module); err != nil || !c.hasOwnMain() {
		return version, nil, err
	}
	own, err = fingerprint(dir)
	return version, own, err
}

// hasOwnMain tells whether a main package lies beside the go.mod.
func (c component) hasOwnMain() bool {
	for _, pkg := range c.packages {
		if strings.HasPrefix(pkg, ownPackages) {
			return true
		}
	}
	return false
}

// keepOwn is how long builds of former sources stay, for other clones of the
// repository that are not as far.
const keepOwn = 7 * 24 * time.Hour

// removeOutdated keeps the cache from growing with every change of the sources.
func removeOutdated(dir string, now time.Time) error {
	builds, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, build := range builds {
		info, err := build.Info()
		if err != nil {
			return err
		}
		if now.Sub(info.ModTime()) < keepOwn {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, build.Name())); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint hashes all files below dir that a program can be made of: no tests,
// and nothing of the other components.
func fingerprint(dir string) ([]byte, error) {
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "components" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(hash, "%s %d\n%s", filepath.ToSlash(name), len(content), content)
		return err
	})
	return hash.Sum(nil), err
}
