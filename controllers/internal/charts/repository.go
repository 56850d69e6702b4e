package charts

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const indexFile = "index.yaml"

// fromRepository fetches from a repository with an index.
func (s *fetch) fromRepository(ctx context.Context) (*Chart, error) {
	choice := &selection[entry]{wanted: s.wanted, parse: parseLeniently}
	there, err := s.chooseFromIndex(ctx, choice)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, errorf(ChartNotFound, "%s is not in the repository's %s: check the chart's name and the repository", s.subject(), indexFile)
	}
	if choice.version == nil {
		return nil, s.missing(choice.available())
	}
	announced, err := s.announcedDigest(choice)
	if err != nil {
		return nil, err
	}
	target, err := s.archiveURL(choice)
	if err != nil {
		return nil, err
	}
	return s.chart(ctx, found{
		version:   choice.text,
		announced: announced,
		scope:     s.scope(target),
		download:  func(ctx context.Context) ([]byte, error) { return s.downloadFrom(ctx, target) },
	})
}

// scope is whoever would send the same request. An index may be open to all and the archive not, or
// its URL be the secret, so both count.
func (s *fetch) scope(target *url.URL) string {
	fields := []string{"https", target.String(), string(s.CA)}
	if s.Credentials != nil && sameHost(target.Host, s.host) {
		fields = append(fields, s.Credentials.Username, s.Credentials.Password)
	}
	return hashOf(fields...)
}

func (s *fetch) chooseFromIndex(ctx context.Context, choice *selection[entry]) (bool, error) {
	req, err := s.newRequest(ctx, s.base.JoinPath(indexFile))
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := get(s.client, req)
	if isGone(err) {
		return false, errorf(InvalidIndex, "%s: the repository has no %s: is it the URL of a chart repository? One in a registry begins with oci://", s.subject(), indexFile)
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	there, err := s.readBody(ctx, resp, choice)
	var malformed *malformedError
	switch {
	case errors.Is(err, errTooLong):
		return false, errorf(InvalidIndex, "%s: the repository's %s has more than %d bytes: use a smaller repository, or one in a registry (oci://)",
			s.subject(), indexFile, s.fetcher.options.MaxIndex)
	case errors.As(err, &malformed):
		return false, errorf(InvalidIndex, "%s: the repository's %s cannot be read: %s", s.subject(), indexFile, s.clean(malformed.problem))
	case err != nil:
		return false, fmt.Errorf("read %s: %w", indexFile, err)
	}
	return there, nil
}

// readBody holds both what comes and what it inflates to against the limit.
func (s *fetch) readBody(ctx context.Context, resp *http.Response, choice *selection[entry]) (bool, error) {
	limit := s.fetcher.options.MaxIndex
	body := capped(resp.Body, limit)
	switch encoding := resp.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		inflated, err := gzip.NewReader(body)
		if err != nil {
			return false, unlessRead(err, "it is said to be gzip, and is not")
		}
		body = capped(inflated, limit)
	default:
		return false, malformed("it comes in the encoding %s; serve it as it is, or as gzip", quote(encoding))
	}
	return s.fetcher.readIndex(ctx, body, s.Name, func(e entry) { choice.offer(e.Version, e) })
}

// newRequest sends the credentials along if target is on the repository's host.
func (s *fetch) newRequest(ctx context.Context, target *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	if s.Credentials != nil && sameHost(target.Host, s.host) {
		req.SetBasicAuth(s.Credentials.Username, s.Credentials.Password)
	}
	return req, nil
}

// announcedDigest is that of the index, which writes it as bare hex, or empty.
func (s *fetch) announcedDigest(choice *selection[entry]) (string, error) {
	if choice.choice.Digest == "" {
		return "", nil
	}
	digest := digestPrefix + strings.ToLower(strings.TrimPrefix(choice.choice.Digest, digestPrefix))
	if !digestPattern.MatchString(digest) {
		return "", errorf(InvalidIndex, "%s, version %s: the digest in the repository's %s is not a SHA-256: make the index again (helm repo index)",
			s.subject(), choice.text, indexFile)
	}
	return digest, nil
}

func (s *fetch) archiveURL(choice *selection[entry]) (*url.URL, error) {
	what := fmt.Sprintf("%s, version %s", s.subject(), choice.text)
	if choice.choice.URL == "" {
		return nil, errorf(InvalidIndex, "%s has no URL in the repository's %s: make the index again (helm repo index)", what, indexFile)
	}
	target, err := s.base.Parse(choice.choice.URL)
	if err != nil {
		return nil, errorf(InvalidIndex, "%s has something in the repository's %s that is not a URL: make the index again (helm repo index)", what, indexFile)
	}
	if target.Scheme == "oci" {
		return nil, refused("%s is kept in a registry: name that (oci://%s…) as the chart's repository", what, truncate.Cut(target.Host, maxQuoted))
	}
	return target, checkTarget(target, what+", is kept on "+quote(target.Host))
}

func (s *fetch) downloadFrom(ctx context.Context, target *url.URL) ([]byte, error) {
	req, err := s.newRequest(ctx, target)
	if err != nil {
		return nil, err
	}
	archive, err := s.downloadArchive(s.client, req, s.fetcher.options.MaxArchive)
	if isGone(err) {
		return nil, errorf(ChartNotFound, "%s: the archive that the repository's %s names is not there: publish the version again", s.subject(), indexFile)
	}
	return archive, err
}

// malformedError says why a text is not an index.
type malformedError struct{ problem string }

func (e *malformedError) Error() string { return e.problem }

func malformed(format string, args ...any) error {
	return &malformedError{problem: fmt.Sprintf(format, args...)}
}

// unlessRead is the error of a parser, as malformed, or the one of the connection that it met.
func unlessRead(err error, problem string) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.EOF) {
		return malformed("%s", problem)
	}
	return err
}
