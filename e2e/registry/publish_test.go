package registry

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/e2e/charts"
)

func TestHelmPullsWhatWasPushed(t *testing.T) {
	server := start(t, Options{})
	published := push(t, server, "web", charts.FirstVersion)
	client := helm(t, server)
	for _, suffix := range []string{"web:1.0.0", "web@" + published.ManifestDigest} {
		pulled, err := client.Pull(reference(server, suffix))
		if err != nil {
			t.Fatalf("pull %s: %v", suffix, err)
		}
		if !bytes.Equal(pulled.Chart.Data, archiveOf(t, "web", charts.FirstVersion)) {
			t.Errorf("%s is another archive", suffix)
		}
		if pulled.Manifest.Digest != published.ManifestDigest || pulled.Chart.Digest != published.ArchiveDigest {
			t.Errorf("%s has the digests %s and %s, want %+v", suffix, pulled.Manifest.Digest, pulled.Chart.Digest, published)
		}
	}
	if downloads := server.Downloads("web", charts.FirstVersion); downloads != 2 {
		t.Errorf("there were %d downloads, want 2", downloads)
	}
}

func TestTagsAreTheVersions(t *testing.T) {
	server := start(t, Options{})
	push(t, server, "web", charts.FirstVersion)
	push(t, server, "web", charts.SecondVersion)
	tags, err := helm(t, server).Tags(reference(server, "web"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tags, " "); got != "1.1.0 1.0.0" {
		t.Errorf("tags = %s", got)
	}
}

func TestIndexLeadsToTheArchives(t *testing.T) {
	server := start(t, Options{})
	push(t, server, "web", charts.FirstVersion)
	published := push(t, server, "web", charts.SecondVersion)
	push(t, server, "hooks", charts.FirstVersion)
	newest, err := index(t, server).Get("web", "")
	if err != nil {
		t.Fatal(err)
	}
	if newest.Version != charts.SecondVersion || "sha256:"+newest.Digest != published.ArchiveDigest {
		t.Errorf("the newest is %s with %s, want %+v", newest.Version, newest.Digest, published)
	}
	status, archive := get(t, trusting(t, server), server.HTTPS()+newest.URLs[0])
	if status != http.StatusOK || !bytes.Equal(archive, archiveOf(t, "web", charts.SecondVersion)) {
		t.Errorf("%s is answered with %d and %d bytes", newest.URLs[0], status, len(archive))
	}
	requests := server.Requests()
	if requests["GET /repo/index.yaml"] != 1 || requests["GET /repo/web-1.1.0.tgz"] != 1 {
		t.Errorf("requests = %v", requests)
	}
	if got := server.Downloads("web", charts.SecondVersion); got != 1 {
		t.Errorf("there were %d downloads, want 1", got)
	}
	if got := server.Downloads("hooks", charts.FirstVersion); got != 0 {
		t.Errorf("there were %d downloads of what nobody asked for", got)
	}
}

func TestPushCountsAsNoRequest(t *testing.T) {
	server := start(t, Options{})
	push(t, server, "web", charts.FirstVersion)
	if requests := server.Requests(); len(requests) != 0 {
		t.Errorf("requests = %v, want none", requests)
	}
}

func TestRetagMovesTheDigest(t *testing.T) {
	server := start(t, Options{})
	before := push(t, server, "web", charts.FirstVersion)
	after, err := server.Retag("web", charts.FirstVersion, archiveOf(t, "web", charts.SecondVersion))
	if err != nil {
		t.Fatal(err)
	}
	client := helm(t, server)
	pulled, err := client.Pull(reference(server, "web:1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	if pulled.Manifest.Digest != after.ManifestDigest || after.ManifestDigest == before.ManifestDigest {
		t.Errorf("the tag leads to %s, want %s and not %s", pulled.Manifest.Digest, after.ManifestDigest, before.ManifestDigest)
	}
	if old, err := client.Pull(reference(server, "web@"+before.ManifestDigest)); err != nil {
		t.Errorf("what was pinned by its digest is gone: %v", err)
	} else if old.Chart.Digest != before.ArchiveDigest {
		t.Errorf("the old digest leads to %s", old.Chart.Digest)
	}
	version, err := index(t, server).Get("web", charts.FirstVersion)
	if err != nil || "sha256:"+version.Digest != after.ArchiveDigest {
		t.Errorf("the index has %v, %v; want %s", version, err, after.ArchiveDigest)
	}
}

func TestRetagNeedsSomethingPushed(t *testing.T) {
	server := start(t, Options{})
	_, err := server.Retag("web", charts.FirstVersion, archiveOf(t, "web", charts.SecondVersion))
	if err == nil || !strings.Contains(err.Error(), "push it first") {
		t.Errorf("Retag() = %v, want it refused", err)
	}
}

func TestPushRefusesWhatIsNoChart(t *testing.T) {
	server := start(t, Options{})
	if _, err := server.Push([]byte("no archive")); err == nil || !strings.Contains(err.Error(), "no chart's archive") {
		t.Errorf("Push() = %v, want it refused", err)
	}
}
