// Velero, with all of its commands, for machines that run more than one server: controller-runtime's own listener for
// metrics, which Velero has no flag for, is off. Velero's metrics are elsewhere, where --metrics-address says.
package main

import (
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/vmware-tanzu/velero/pkg/buildinfo"
	"github.com/vmware-tanzu/velero/pkg/cmd"
	"github.com/vmware-tanzu/velero/pkg/cmd/velero"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	buildinfo.Version = version()
	metricsserver.DefaultBindAddress = "0"
	cmd.CheckError(velero.NewCommand(filepath.Base(os.Args[0])).Execute())
}

// version is that of Velero's module; what its releases are linked with.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/vmware-tanzu/velero" {
			return module.Version
		}
	}
	return ""
}
