package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Media types of a chart in a registry, as Helm pushes it, and of its manifest.
// https://helm.sh/docs/topics/registries/#helm-chart-manifest
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.cncf.helm.config.v1+json"
	layerType    = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

const (
	// maxManifest in bytes; Helm's are below 2 KiB.
	maxManifest = 256 * 1024
	// maxTagPages is how many pages of tags are read; registries send 100 to 1000 tags on one.
	maxTagPages = 1000
)

var errNoManifest = errors.New("no such manifest")

// layer is the descriptor of a chart's archive.
type layer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// fromRegistry fetches from an OCI registry. oras logs in and lists tags; manifest and archive are
// read here: oras believes headers about them, or fails over them in ways that can't be told apart.
func (s *fetch) fromRegistry(ctx context.Context) (*Chart, error) {
	client := s.authClient()
	version, archive, err := s.resolve(ctx, client)
	if err != nil {
		return nil, err
	}
	if archive.Size > s.fetcher.options.MaxArchive {
		return nil, s.tooLarge()
	}
	return s.chart(ctx, found{
		version:   version,
		announced: archive.Digest,
		// Who may read a manifest may read the archive that lies beside it, so whatever credentials
		// did it, the same repository answered with the same digest.
		scope:    hashOf("oci", s.host, s.oci.Repository, string(s.CA)),
		download: func(ctx context.Context) ([]byte, error) { return s.downloadLayer(ctx, client, archive) },
	})
}

// authClient knows the credentials for the registry's host alone, and opens no file to find others.
// Its tokens end with the fetch.
func (s *fetch) authClient() *auth.Client {
	client := &auth.Client{Client: s.client, Cache: auth.NewCache()}
	if s.Credentials != nil {
		client.Credential = auth.StaticCredential(s.host, auth.Credential{Username: s.Credentials.Username, Password: s.Credentials.Password})
	}
	return client
}

// resolve finds the version and its manifest. An exact one takes no list of tags if its tag is there.
func (s *fetch) resolve(ctx context.Context, client *auth.Client) (string, layer, error) {
	if s.wanted.exact != nil {
		archive, err := s.readManifest(ctx, client, tagOf(s.Version))
		if !errors.Is(err, errNoManifest) {
			return s.Version, archive, err
		}
	}
	choice, err := s.chooseFromTags(ctx, client)
	if status := statusOf(err); status != nil && s.wanted.exact != nil {
		// The answer to the tag itself stands.
		return "", layer{}, s.missing("the registry does not list what there is")
	}
	if err != nil {
		return "", layer{}, err
	}
	if choice.version == nil {
		return "", layer{}, s.missing(choice.available())
	}
	archive, err := s.readManifest(ctx, client, choice.choice)
	if errors.Is(err, errNoManifest) {
		return "", layer{}, errorf(VersionNotFound, "%s: the registry lists the version %s, and has no manifest for it: publish it again", s.subject(), choice.text)
	}
	return choice.text, archive, err
}

// Tags can't hold the + of build metadata: Helm writes _ instead.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

func versionOf(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

func (s *fetch) chooseFromTags(ctx context.Context, client *auth.Client) (*selection[string], error) {
	choice := &selection[string]{wanted: s.wanted, parse: parseStrictly}
	repository := &remote.Repository{Client: client, Reference: *s.oci}
	pages := 0
	err := repository.Tags(ctx, "", func(tags []string) error {
		for _, tag := range tags {
			choice.offer(versionOf(tag), tag)
		}
		if pages++; pages == maxTagPages {
			return errorf(VersionNotFound, "%s has more than %d pages of tags: name an exact version", s.subject(), maxTagPages)
		}
		return nil
	})
	if isGone(err) {
		return nil, errorf(ChartNotFound, "%s is not there: check the chart's name, which is the last part of the repository's name, and the repository", s.subject())
	}
	var syntax *json.SyntaxError
	var field *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &field) {
		return nil, errorf(NotAChart, "%s: %s does not answer as a registry does: check the repository; one with an %s begins with https://", s.subject(), s.host, indexFile)
	}
	if err != nil {
		return nil, fmt.Errorf("list the tags: %w", err)
	}
	return choice, nil
}

// readManifest returns errNoManifest if there is no such tag.
func (s *fetch) readManifest(ctx context.Context, client *auth.Client, tag string) (layer, error) {
	reference := *s.oci
	reference.Reference = tag
	if err := reference.ValidateReferenceAsTag(); err != nil {
		return layer{}, invalidSource("the chart's version %s cannot be a tag in a registry: it has at most 128 characters", quote(tag))
	}
	req, err := s.newRegistryRequest(ctx, "manifests/"+tag)
	if err != nil {
		return layer{}, err
	}
	req.Header.Set("Accept", manifestType)
	resp, err := get(client, req)
	if isGone(err) {
		return layer{}, errNoManifest
	}
	if err != nil {
		return layer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(capped(resp.Body, maxManifest))
	if errors.Is(err, errTooLong) {
		return layer{}, s.notAChart(tag, fmt.Sprintf("its manifest has more than %d bytes", maxManifest))
	}
	if err != nil {
		return layer{}, fmt.Errorf("read the manifest: %w", err)
	}
	// There are other algorithms; then the manifest is as good as the tag, which has no digest either.
	announced := resp.Header.Get("Docker-Content-Digest")
	if digestPattern.MatchString(announced) && announced != digestOf(text) {
		return layer{}, errorf(DigestMismatch, "%s, tag %s: the manifest has the digest %s, and the registry announces %s: if this stays so, push the version again",
			s.subject(), tag, digestOf(text), announced)
	}
	return s.parseManifest(tag, text)
}

func (s *fetch) newRegistryRequest(ctx context.Context, path string) (*http.Request, error) {
	ctx = auth.AppendRepositoryScope(ctx, *s.oci, auth.ActionPull)
	return http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.host+"/v2/"+s.oci.Repository+"/"+path, nil)
}

func (s *fetch) parseManifest(tag string, text []byte) (layer, error) {
	var manifest struct {
		Config struct {
			MediaType string `json:"mediaType"`
		} `json:"config"`
		Layers []layer `json:"layers"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return layer{}, s.notAChart(tag, "its manifest is not the JSON of one")
	}
	if manifest.Config.MediaType != configType {
		return layer{}, s.notAChart(tag, "is it a container image?")
	}
	for _, candidate := range manifest.Layers {
		if candidate.MediaType != layerType {
			continue
		}
		if !digestPattern.MatchString(candidate.Digest) || candidate.Size < 0 {
			return layer{}, s.notAChart(tag, "its manifest gives no SHA-256 or no size for the chart")
		}
		return candidate, nil
	}
	return layer{}, s.notAChart(tag, "its manifest has no layer with a chart")
}

func (s *fetch) notAChart(tag, problem string) error {
	return errorf(NotAChart, "%s: what is tagged %s is no Helm chart: %s; push the chart with helm push", s.subject(), tag, problem)
}

func (s *fetch) downloadLayer(ctx context.Context, client *auth.Client, archive layer) ([]byte, error) {
	req, err := s.newRegistryRequest(ctx, "blobs/"+archive.Digest)
	if err != nil {
		return nil, err
	}
	content, err := s.downloadArchive(client, req, archive.Size)
	if isGone(err) {
		return nil, errorf(ChartNotFound, "%s: the archive that its manifest names is not in the registry: push the version again", s.subject())
	}
	if reason, _ := ReasonOf(err); reason == ArchiveTooLarge {
		return nil, errorf(DigestMismatch, "%s: the archive has more than the %d bytes that its manifest gives: push the version again", s.subject(), archive.Size)
	}
	return content, err
}
