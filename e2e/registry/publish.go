package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Published says how a chart's version can be asked for.
type Published struct {
	Name, Version string
	// ManifestDigest is that of the OCI manifest, as in sha256:<hex>.
	ManifestDigest string
	// ArchiveDigest is that of the archive itself, as in sha256:<hex>. An index has it without sha256:.
	ArchiveDigest string
}

// Push publishes an archive under the name and version in its Chart.yaml.
func (s *Server) Push(archive []byte) (Published, error) {
	metadata, err := metadataOf(archive)
	if err != nil {
		return Published{}, fmt.Errorf("push: %w", err)
	}
	return s.publish(metadata, archive)
}

// Retag publishes another archive under a name and version that are there already, whatever the
// archive's own are: what one has pinned is another from now on.
func (s *Server) Retag(name, version string, archive []byte) (Published, error) {
	if _, there := s.repository.digest(name, version); !there {
		return Published{}, fmt.Errorf("retag %s %s: nothing was pushed under it; push it first", name, version)
	}
	metadata, err := metadataOf(archive)
	if err != nil {
		return Published{}, fmt.Errorf("retag %s %s: %w", name, version, err)
	}
	metadata.Name, metadata.Version = name, version
	return s.publish(metadata, archive)
}

func (s *Server) publish(metadata *chart.Metadata, archive []byte) (Published, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	manifest, err := s.pushOCI(metadata, archive)
	if err != nil {
		return Published{}, fmt.Errorf("push %s %s to the OCI registry: %w", metadata.Name, metadata.Version, err)
	}
	if err := s.repository.add(metadata, archive); err != nil {
		return Published{}, fmt.Errorf("add %s %s to the repository: %w", metadata.Name, metadata.Version, err)
	}
	return Published{
		Name: metadata.Name, Version: metadata.Version, ManifestDigest: manifest, ArchiveDigest: digestOf(archive),
	}, nil
}

func metadataOf(archive []byte) (*chart.Metadata, error) {
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("what was given is no chart's archive: %w", err)
	}
	if loaded.Metadata == nil {
		return nil, errors.New("the archive's Chart.yaml says nothing")
	}
	return loaded.Metadata, loaded.Validate()
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
