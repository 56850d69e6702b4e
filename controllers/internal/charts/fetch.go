package charts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// fetch is one fetch.
type fetch struct {
	*request
	fetcher             *Fetcher
	restrictedTransport *restrictedTransport
	client              *http.Client
}

func (s *fetch) run(ctx context.Context) (*Chart, error) {
	if directory, mirrored := s.fetcher.options.Mirrors[s.location()]; mirrored {
		return s.fromMirror(ctx, directory)
	}
	if s.oci != nil {
		return s.fromRegistry(ctx)
	}
	return s.fromRepository(ctx)
}

// found is the version of the chart that was chosen, and how to come by it.
type found struct {
	version string
	// announced is the digest that the index or the manifest gives, or empty.
	announced string
	// scope says who else may have the archive from the cache: see key.
	scope    string
	download func(context.Context) ([]byte, error)
}

// chart returns the archive from the cache, or downloads it, and checks its digest.
func (s *fetch) chart(ctx context.Context, what found) (*Chart, error) {
	if err := s.checkPinned(what.version, what.announced); err != nil {
		return nil, err
	}
	archive, err := s.fetcher.archives.get(ctx, key{digest: what.announced, scope: what.scope}, func() ([]byte, error) {
		return s.verified(ctx, what)
	})
	if err != nil {
		return nil, err
	}
	digest := what.announced
	if digest == "" {
		digest = digestOf(archive)
	}
	return &Chart{Name: s.Name, Version: what.version, Digest: digest, Archive: archive}, nil
}

func (s *fetch) verified(ctx context.Context, what found) ([]byte, error) {
	archive, err := what.download(ctx)
	if err != nil {
		return nil, err
	}
	digest := digestOf(archive)
	if what.announced != "" && digest != what.announced {
		return nil, errorf(DigestMismatch, "%s, version %s: the archive has the digest %s, and the repository announces %s: publish the version again",
			s.subject(), what.version, digest, what.announced)
	}
	return archive, s.checkPinned(what.version, digest)
}

// checkPinned holds a digest against that of the Source, if both are known.
func (s *fetch) checkPinned(version, digest string) error {
	if s.Digest == "" || digest == "" || s.Digest == digest {
		return nil
	}
	return errorf(DigestMismatch, "%s, version %s, has the digest %s, and %s is asked for: was it published again? If it is meant, set the new digest",
		s.subject(), version, digest, s.Digest)
}

// doer is an HTTP client, with or without a way to come by tokens.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// get returns the answer to a GET if that is 200.
func get(client doer, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(&statusError{code: resp.StatusCode, host: resp.Request.URL.Host}, resp.Body.Close())
	}
	return resp, nil
}

// downloadArchive reads an archive of at most limit bytes.
func (s *fetch) downloadArchive(client doer, req *http.Request, limit int64) ([]byte, error) {
	resp, err := get(client, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	archive, err := io.ReadAll(capped(resp.Body, limit))
	if errors.Is(err, errTooLong) {
		return nil, s.tooLarge()
	}
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	return archive, nil
}

func (s *fetch) tooLarge() error {
	return errorf(ArchiveTooLarge, "%s: the archive has more than %d bytes: take large files out of the chart (.helmignore)",
		s.subject(), s.fetcher.options.MaxArchive)
}

// missing is the error for a version that is not there.
func (s *fetch) missing(available string) error {
	if s.wanted.exact != nil {
		return errorf(VersionNotFound, "%s has no version %s; %s", s.subject(), s.Version, available)
	}
	return errorf(VersionNotFound, "%s has no version that matches %s (prereleases match only a range that names one); %s",
		s.subject(), quote(s.Version), available)
}
