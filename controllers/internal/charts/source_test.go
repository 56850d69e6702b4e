package charts

import (
	"testing"
)

func TestSourceThatCannotBeUsedIsRefusedUnread(t *testing.T) {
	w := newEnv(t)
	for name, test := range map[string]struct {
		change func(*Source)
		reason Reason
		words  string
	}{
		"http":           {func(s *Source) { s.Repository = "http://charts.test/stable" }, SourceRefused, "https or oci"},
		"file":           {func(s *Source) { s.Repository = "file:///etc" }, SourceRefused, "https or oci"},
		"user":           {func(s *Source) { s.Repository = "https://alice:s3cr3t-of-alice@charts.test" }, SourceRefused, "Secret"},
		"user for OCI":   {func(s *Source) { s.Repository = "oci://alice:s3cr3t-of-alice@charts.test/a" }, SourceRefused, "Secret"},
		"not a URL":      {func(s *Source) { s.Repository = "https://alice:s3cr3t-of-alice@%zz" }, InvalidSource, "not a URL"},
		"no host":        {func(s *Source) { s.Repository = "https:///stable" }, InvalidSource, "no host"},
		"query":          {func(s *Source) { s.Repository = stable + "?token=s3cr3t-of-alice" }, InvalidSource, "query"},
		"no name":        {func(s *Source) { s.Name = "" }, InvalidSource, "name"},
		"name of a path": {func(s *Source) { s.Name = "../web" }, InvalidSource, "name"},
		"OCI upper case": {func(s *Source) { s.Repository, s.Name = "oci://charts.test/a", "Web" }, InvalidSource, "lower-case"},
		"OCI tag":        {func(s *Source) { s.Repository = "oci://charts.test/a:1" }, InvalidSource, "no tag"},
		"digest":         {func(s *Source) { s.Digest = "sha256:12" }, InvalidSource, "digest"},
		"CA":             {func(s *Source) { s.CA = []byte("none") }, InvalidSource, "PEM"},
		"no password":    {func(s *Source) { s.Credentials = &Credentials{Username: "alice"} }, InvalidSource, "empty"},
		"line break":     {func(s *Source) { s.Credentials = &Credentials{Username: "alice", Password: "s3cr3t-of-alice\n"} }, InvalidSource, "line break"},
	} {
		source := w.source(stable)
		test.change(&source)
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		t.Logf("%s: %v", name, err)
		refusedFor(t, err, test.reason, test.words)
		if failure, _ := err.(*Error); !failure.Final() {
			t.Errorf("%s: not final", name)
		}
	}
}
