// Command lint is golangci-lint with the Kubernetes API linter built in, as
// "golangci-lint custom" would build it, but reproducible from this module's
// go.sum alone.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	// Registers the linter "kubeapilinter".
	_ "sigs.k8s.io/kube-api-linter"
)

const linterModule = "github.com/golangci/golangci-lint/v2"

func main() {
	if err := commands.Execute(buildInfo()); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(exitcodes.Failure)
	}
}

// buildInfo names the version of golangci-lint that go.mod selected, which
// golangci-lint checks configurations against and keys its cache by.
func buildInfo() commands.BuildInfo {
	info := commands.BuildInfo{Version: "unknown", Commit: "unknown", Date: "unknown"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info.GoVersion = build.GoVersion
	for _, module := range build.Deps {
		if module.Path == linterModule {
			info.Version = module.Version
			info.Commit = module.Sum
		}
	}
	return info
}
