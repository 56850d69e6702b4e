package backupstore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

const aBackup = `{"apiVersion":"velero.io/v1","kind":"Backup","metadata":{"name":%q},"status":{"phase":"Completed","startTimestamp":%q,"progress":{"itemsBackedUp":7}}}`

// bucket is a storage of a test's own. Its objects are by path.
type bucket struct {
	*httptest.Server
	objects map[string]string
	listing func(token string) string
}

func newBucket(t *testing.T) *bucket {
	b := &bucket{objects: map[string]string{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			_, _ = io.WriteString(w, b.listing(r.URL.Query().Get("continuation-token")))
			return
		}
		content, found := b.objects[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
			return
		}
		_, _ = io.WriteString(w, content)
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *bucket) open(t *testing.T) *Store {
	t.Helper()
	store, err := Open(Location{Bucket: "b", Prefix: "daytwo/prod", Region: "r", Endpoint: b.URL},
		Credentials{AccessKeyID: "access-key", SecretAccessKey: "secret-key"}, Options{Guard: netguard.Guard{Rule: netguard.All}})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// page is a listing with the names of backups, and the token of the next; empty for the last.
func page(next string, names ...string) string {
	out := strings.Builder{}
	fmt.Fprintf(&out, `<ListBucketResult><IsTruncated>%t</IsTruncated><NextContinuationToken>%s</NextContinuationToken>`, next != "", next)
	for _, name := range names {
		fmt.Fprintf(&out, `<CommonPrefixes><Prefix>daytwo/prod/backups/%s/</Prefix></CommonPrefixes>`, name)
	}
	return out.String() + `</ListBucketResult>`
}

func TestBackupsAreReadLatestFirst(t *testing.T) {
	b := newBucket(t)
	b.listing = func(token string) string {
		if token == "" {
			return page("more", "old", "unfinished", "garbage", "Not_A_Name")
		}
		return page("", "new", "huge", "renamed")
	}
	for name, at := range map[string]string{"old": "2026-11-20T00:00:00Z", "new": "2026-11-21T00:00:00Z"} {
		b.objects["/b/daytwo/prod/backups/"+name+"/velero-backup.json"] = fmt.Sprintf(aBackup, name, at)
	}
	b.objects["/b/daytwo/prod/backups/garbage/velero-backup.json"] = "<html>"
	b.objects["/b/daytwo/prod/backups/huge/velero-backup.json"] = fmt.Sprintf(aBackup, "huge", "2026-11-22T00:00:00Z") + strings.Repeat(" ", maxMetadata)
	b.objects["/b/daytwo/prod/backups/renamed/velero-backup.json"] = fmt.Sprintf(aBackup, "new", "2026-11-23T00:00:00Z")
	backups, err := b.open(t).Backups(t.Context())
	if err != nil || len(backups) != 2 || backups[0].Name != "new" || backups[1].Name != "old" {
		t.Fatalf("got %+v, %v", backups, err)
	}
	if one := backups[0]; one.Items != 7 || one.Phase != "Completed" || !one.StartedAt.Equal(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", one)
	}
}

func TestAListingWithoutEndIsGivenUp(t *testing.T) {
	for name, listing := range map[string]func(string) string{
		"more and more backups": func(token string) string {
			var names []string
			for i := range 100 {
				names = append(names, fmt.Sprintf("%s-%d", "x"+token, i))
			}
			return page(token+"1", names...)
		},
		"pages with nothing": func(token string) string { return page(token + "1") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			b.listing = listing
			if _, err := b.open(t).Backups(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1000 backups") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatABucketLacksIsTold(t *testing.T) {
	store := newBucket(t).open(t)
	_, err := store.Archive(t.Context(), "nightly")
	if !IsNotFound(err) || err.Error() != "bucket b has no daytwo/prod/backups/nightly/nightly.tar.gz" {
		t.Errorf("got %v", err)
	}
	if _, err = store.ResourceList(t.Context(), "nightly"); !IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestAListOfObjectsThatIsNone(t *testing.T) {
	b := newBucket(t)
	b.objects["/b/daytwo/prod/backups/nightly/nightly-resource-list.json.gz"] = "<html>"
	if _, err := b.open(t).ResourceList(t.Context(), "nightly"); !IsUnreadable(err) {
		t.Errorf("got %v", err)
	}
}

// Whoever has storage answers what they like: it is not repeated, and leads nowhere else.
func TestStorageThatRefuses(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"denied": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<Error><Code>AccessDenied</Code><Message>my-inner-host says secret-key</Message></Error>`)
		}, "the storage answers AccessDenied: see whether the credentials permit that"},
		"a code that is none": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<Error><Code>secret-key and `+strings.Repeat("more ", 50)+`</Code></Error>`)
		}, "the storage answers with an error"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "the storage"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(row.answer)
			defer server.Close()
			store := (&bucket{Server: server}).open(t)
			_, err := store.Archive(t.Context(), "nightly")
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret-key") || strings.Contains(err.Error(), "inner-host") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnAddressThatIsNotPermitted(t *testing.T) {
	store, err := Open(Location{Bucket: "b", Region: "r", Endpoint: newBucket(t).URL}, Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = store.Archive(t.Context(), "nightly"); err == nil || !strings.Contains(err.Error(), "private storage allowed") {
		t.Errorf("got %v", err)
	}
}

func TestStorageThatDoesNotAnswerIsNotWaitedForBeyondTheDeadline(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer server.Close()
	defer close(ended)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (&bucket{Server: server}).open(t).Archive(ctx, "nightly"); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v", err)
	}
}

func TestCredentialsAreNotPrinted(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, Credentials{AccessKeyID: "access-key", SecretAccessKey: "secret-key"}); strings.Contains(text, "key") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
