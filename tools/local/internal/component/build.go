package component

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// build makes one component out of its module.
type build struct {
	component
	// dir is the module's directory.
	dir string
	// version is the one that go.mod asks for, or ownVersion.
	version string
	// key is the version and a hash of everything that decides the outcome.
	key string
	on  platform
	// count is this build's place among those that are missing, as in "[3/9] ", or "".
	count string
	// background lets whatever else runs go first.
	background bool
	progress   io.Writer
}

func newBuild(ctx context.Context, c component, dir string, progress io.Writer) (*build, error) {
	b := &build{component: c, dir: dir, progress: progress}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	goSum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, err
	}
	var own []byte
	if b.version, own, err = c.versionIn(dir, goMod); err != nil {
		return nil, err
	}
	platform, err := b.goCommand(ctx, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return nil, err
	}
	inputs := [][]byte{goMod, goSum, platform, []byte(strings.Join(b.buildFlags(), " ")), []byte(fmt.Sprint(c))}
	if own != nil {
		inputs = append(inputs, own)
	}
	words := strings.Fields(string(platform))
	if len(words) != 3 {
		return nil, fmt.Errorf("go env says %q, want a version, an operating system and an architecture", platform)
	}
	b.on.os, b.on.arch = words[1], words[2]
	hash := sha256.Sum256(bytes.Join(inputs, []byte{0}))
	b.key = b.version + "-" + hex.EncodeToString(hash[:6])
	return b, nil
}

func requiredVersion(goMod []byte, module string) (string, error) {
	file, err := modfile.ParseLax("go.mod", goMod, nil)
	if err != nil {
		return "", err
	}
	for _, require := range file.Require {
		if require.Mod.Path == module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}

// run puts the component's binaries and files into target.
func (b *build) run(ctx context.Context, target string) error {
	task := b.start("building")
	defer task.stop()
	if len(b.packages) > 0 {
		if err := b.compile(ctx, target); err != nil {
			return err
		}
	}
	if len(b.files) > 0 {
		if err := b.copyFiles(ctx, target); err != nil {
			return err
		}
	}
	task.done("built")
	return nil
}

// compile builds all packages in one go: they are compiled while others are
// still linked, which is what takes a single processor the longest.
func (b *build) compile(ctx context.Context, target string) error {
	packages := slices.Sorted(maps.Values(b.packages))
	args := append([]string{"build", "-o", target + string(filepath.Separator)}, b.buildFlags()...)
	if _, err := b.goCommand(ctx, append(args, packages...)...); err != nil {
		return err
	}
	for binary, pkg := range b.packages {
		if err := os.Rename(filepath.Join(target, builtName(pkg)), filepath.Join(target, binary)); err != nil {
			return err
		}
	}
	return nil
}

// builtName is the name that go build gives a package's binary: the last element
// of the import path that is not a major version.
func builtName(pkg string) string {
	if base := path.Base(pkg); semver.Major(base) != base {
		return base
	}
	return path.Base(path.Dir(pkg))
}

// buildFlags leave out paths and symbols: with them, binaries are three times as
// large and differ from machine to machine.
func (b *build) buildFlags() []string {
	linker := "-s -w"
	if b.versionPackage != "" {
		major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(b.version), "v"), ".")
		linker += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			b.versionPackage, b.version, major, minor)
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", linker}
}

func (b *build) copyFiles(ctx context.Context, target string) error {
	output, err := b.goCommand(ctx, "mod", "download", "-json", b.module)
	if err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return fmt.Errorf("read the answer of go mod download: %w", err)
	}
	for _, file := range b.files {
		if err := copyInto(target, filepath.Join(module.Dir, filepath.FromSlash(file))); err != nil {
			return err
		}
	}
	return nil
}

// copyInto copies a file, or all files of a directory, into target.
func copyInto(target, source string) error {
	if isDir(source) {
		return os.CopyFS(target, os.DirFS(source))
	}
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(target, filepath.Base(source)), content, 0o644)
}

// goCommand runs the go command in the component's module, without whatever
// workspace or C compiler happens to be around.
func (b *build) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		if b.background {
			giveWay(cmd.Process)
		}
		err = cmd.Wait()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("the go command is missing: install Go from https://go.dev/dl and put it on PATH: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}
