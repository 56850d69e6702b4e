// Package version tells what the running program was built from.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// linked is the version that a build without a repository names, such as that of an image:
// -ldflags "-X github.com/daytwo-dev/daytwo/internal/version.linked=v1.2.3".
var linked string

const (
	// unknown stands for what the build did not record.
	unknown = "unknown"
	// commitLength is how many hex digits of a commit are shown.
	commitLength = 12
)

// Info is what a program was built from. No field is empty.
type Info struct {
	// Version is the one that the build named, such as v1.2.3, or that of the Go module.
	Version string
	// Commit is the first 12 hex digits of the commit, followed by "-modified" if the sources differed from it.
	Commit string
	// Go is the version of Go that built it, such as go1.26.0.
	Go string
	// Platform is the operating system and the architecture, such as linux/amd64.
	Platform string
}

// Get returns what this program was built from.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return from(linked, build)
}

// String is one line for people.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s)", i.Version, i.Commit, i.Go, i.Platform)
}

// from prefers the version that the build named: a module that is built in its own repository may have none.
func from(linked string, build *debug.BuildInfo) Info {
	settings := map[string]string{}
	for _, setting := range build.Settings {
		settings[setting.Key] = setting.Value
	}
	commit := cmp.Or(settings["vcs.revision"], unknown)
	commit = commit[:min(len(commit), commitLength)]
	if settings["vcs.modified"] == "true" {
		commit += "-modified"
	}
	return Info{
		Version:  cmp.Or(linked, build.Main.Version, unknown),
		Commit:   commit,
		Go:       cmp.Or(build.GoVersion, unknown),
		Platform: cmp.Or(settings["GOOS"], unknown) + "/" + cmp.Or(settings["GOARCH"], unknown),
	}
}
