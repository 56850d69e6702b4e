package component

import (
	"fmt"
	"path"
	"strings"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
)

// platform is what programs are built for, as in linux and arm64.
type platform struct{ os, arch string }

// release returns the programs of a component as its publisher built them; none if they have to be built here.
//
// The publisher built them from the same version of the same sources. Nothing is patched, and what is set at link time says
// which version it is and no more. That does not hold for Velero and cert-manager, which have main packages of their own
// here, nor for the provider, which nobody publishes. Cluster API and Velero's plugin are published as images alone.
func (c component) release(version string, on platform) []download.File {
	if on.arch != "amd64" && on.arch != "arm64" {
		return nil
	}
	switch c.name {
	case "etcd":
		return etcdRelease(version, on)
	case "kubernetes", "kubernetes-1.35", "kubectl":
		return c.kubernetesRelease(version, on)
	case "kwok":
		return kwokRelease(version, on)
	case "versitygw":
		return versitygwRelease(version, on)
	}
	return nil
}

// etcdRelease is for Linux alone: for others it is packed as zip.
func etcdRelease(version string, on platform) []download.File {
	if on.os != "linux" {
		return nil
	}
	base := "https://github.com/etcd-io/etcd/releases/download/" + version
	name := fmt.Sprintf("etcd-%s-%s-%s", version, on.os, on.arch)
	return []download.File{{Name: "etcd", URL: base + "/" + name + ".tar.gz", Member: path.Join(name, "etcd"), Checksums: base + "/SHA256SUMS"}}
}

// kubernetesRelease has the servers for Linux alone.
func (c component) kubernetesRelease(version string, on platform) []download.File {
	if on.os != "linux" && (on.os != "darwin" || c.name != "kubectl") {
		return nil
	}
	var files []download.File
	for _, program := range c.programs() {
		url := fmt.Sprintf("https://dl.k8s.io/release/%s/bin/%s/%s/%s", version, on.os, on.arch, program)
		files = append(files, download.File{Name: program, URL: url, Checksums: url + ".sha256"})
	}
	return files
}

// kwokRelease has no file of checksums beside its programs: GitHub computes them.
func kwokRelease(version string, on platform) []download.File {
	if on.os != "linux" && on.os != "darwin" {
		return nil
	}
	return []download.File{{
		Name:      "kwok",
		URL:       fmt.Sprintf("https://github.com/kubernetes-sigs/kwok/releases/download/%s/kwok-%s-%s", version, on.os, on.arch),
		Checksums: "https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/" + version,
	}}
}

// versitygwRelease has names with what uname calls system and machine.
func versitygwRelease(version string, on platform) []download.File {
	system := map[string]string{"linux": "Linux", "darwin": "Darwin"}[on.os]
	if system == "" {
		return nil
	}
	base := "https://github.com/versity/versitygw/releases/download/" + version
	name := fmt.Sprintf("versitygw_%s_%s_%s", version, system, strings.Replace(on.arch, "amd64", "x86_64", 1))
	return []download.File{{Name: "versitygw", URL: base + "/" + name + ".tar.gz", Member: path.Join(name, "versitygw"), Checksums: base + "/checksums.txt"}}
}
