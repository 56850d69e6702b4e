package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	helmregistry "helm.sh/helm/v4/pkg/registry"
)

// pushOCI puts an archive into the OCI registry and returns its manifest's digest. It does not go over
// the network: what is pushed is not to be counted, and needs no credentials.
func (s *Server) pushOCI(metadata *chart.Metadata, archive []byte) (string, error) {
	config, err := json.Marshal(metadata)
	if err != nil {
		return "", err
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1}
	if manifest.Config, err = s.pushBlob(metadata.Name, helmregistry.ConfigMediaType, config); err != nil {
		return "", err
	}
	layer, err := s.pushBlob(metadata.Name, helmregistry.ChartLayerMediaType, archive)
	if err != nil {
		return "", err
	}
	manifest.Layers = []v1.Descriptor{layer}
	manifest.Annotations = map[string]string{
		"org.opencontainers.image.title":   metadata.Name,
		"org.opencontainers.image.version": metadata.Version,
	}
	content, err := json.Marshal(manifest)
	if err != nil {
		return "", err
	}
	target := repositoryOf(metadata.Name) + "/manifests/" + tagOf(metadata.Version)
	return digestOf(content), s.write(http.MethodPut, target, string(types.OCIManifestSchema1), content)
}

func (s *Server) pushBlob(name, mediaType string, content []byte) (v1.Descriptor, error) {
	digest, err := v1.NewHash(digestOf(content))
	if err != nil {
		return v1.Descriptor{}, err
	}
	query := url.Values{"digest": {digest.String()}}
	target := repositoryOf(name) + "/blobs/uploads/?" + query.Encode()
	descriptor := v1.Descriptor{MediaType: types.MediaType(mediaType), Size: int64(len(content)), Digest: digest}
	return descriptor, s.write(http.MethodPost, target, "application/octet-stream", content)
}

func (s *Server) write(method, target, mediaType string, content []byte) error {
	request := httptest.NewRequest(method, target, bytes.NewReader(content))
	request.Header.Set("Content-Type", mediaType)
	response := httptest.NewRecorder()
	s.oci.ServeHTTP(response, request)
	if response.Code != http.StatusCreated {
		return fmt.Errorf("%s %s: %d %s", method, target, response.Code, response.Body)
	}
	return nil
}

func repositoryOf(name string) string { return "/v2/" + ociNamespace + "/" + name }

func blobPath(name, digest string) string { return repositoryOf(name) + "/blobs/" + digest }

// tagOf replaces what a version may have and a tag may not, as Helm does.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }
