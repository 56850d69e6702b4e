package revision

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func policy() Owner {
	return Owner{APIVersion: "addons.daytwo.dev/v1alpha1", Kind: "SaaSAddon", Object: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: "cache", UID: "1"},
	}}
}

// testContent stands for what a kind of policy stores.
type testContent struct{ Texts []testText }

type testText struct{ Name, Text string }

// incompressible content that fills some chunks.
func incompressible(chunks int) testContent {
	source := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for text.Len() < (chunks-1)*chunkBytes+1000 {
		text.WriteByte(byte(' ' + source.IntN(90)))
	}
	return testContent{Texts: []testText{{Name: "inline", Text: text.String()}}}
}

func snapshotOf(t *testing.T, content any) *Snapshot {
	t.Helper()
	snapshot, err := EncodeSnapshot("cache", content)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, chunks := range []int{1, 3} {
		snapshot := snapshotOf(t, incompressible(chunks))
		c := fake.NewFakeClient()
		for range 2 { // The second time everything is there already.
			if err := Write(t.Context(), c, c, policy(), snapshot); err != nil {
				t.Fatal(err)
			}
		}
		content, err := Read(t.Context(), c, client.ObjectKey{Namespace: "acme", Name: snapshot.Name})
		if err != nil || !bytes.Equal(content, bytes.Join(snapshot.chunks, nil)) {
			t.Errorf("%d bytes, %v", len(content), err)
		}
		stored, err := List(t.Context(), c, policy())
		if err != nil || len(stored) != 1 || !snapshot.WithoutContent().StoredIn(stored) {
			t.Errorf("stored %+v, %v", stored, err)
		}
		secrets := &corev1.SecretList{}
		if err := c.List(t.Context(), secrets); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets.Items {
			if size := len(secret.Data[keyContent]); size > 900_000 || secret.Immutable == nil || !*secret.Immutable {
				t.Errorf("%s: %d bytes, immutable %v", secret.Name, size, secret.Immutable)
			}
		}
	}
}

// Whichever write is the last, what is there looks complete only if it is.
func TestInterruptedWriteIsNeverARevision(t *testing.T) {
	snapshot := snapshotOf(t, incompressible(3))
	key := client.ObjectKey{Namespace: "acme", Name: snapshot.Name}
	for writes := range 3 {
		left := writes
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
				if left--; left < 0 {
					return errors.New("killed")
				}
				return c.Create(ctx, object, opts...)
			},
		}).Build()
		if err := Write(t.Context(), c, c, policy(), snapshot); err == nil {
			t.Fatal("the write was not interrupted")
		}
		if _, err := Read(t.Context(), c, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("after %d writes: %v", writes, err)
		}
		if stored, _ := List(t.Context(), c, policy()); snapshot.StoredIn(stored) {
			t.Errorf("after %d writes it counts as stored", writes)
		}
		left = 3
		if err := Write(t.Context(), c, c, policy(), snapshot); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), c, key); err != nil {
			t.Errorf("finished after %d writes: %v", writes, err)
		}
	}
}

func TestTornRevisionIsNoticed(t *testing.T) {
	bomb := func() []byte {
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		_, _ = writer.Write(make([]byte, chunkBytes+1))
		_ = writer.Close()
		return compressed.Bytes()
	}
	for name, tear := range map[string]func(first, second *corev1.Secret){
		"a chunk of something else": func(first, second *corev1.Secret) { second.Data[keyContent] = first.Data[keyContent] },
		"no gzip":                   func(_, second *corev1.Secret) { second.Data[keyContent] = []byte("x") },
		"a bomb":                    func(_, second *corev1.Secret) { second.Data[keyContent] = bomb() },
		"too many chunks":           func(first, _ *corev1.Secret) { first.Data[keyChunks] = []byte("999999999") },
		"another digest":            func(first, _ *corev1.Secret) { first.Data[keyDigest] = []byte("x") },
		"another type":              func(_, second *corev1.Secret) { second.Type = corev1.SecretTypeOpaque },
		"a missing chunk":           func(_, second *corev1.Secret) { second.Name = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := snapshotOf(t, incompressible(2))
			first, second := secretOf(t, snapshot, 0), secretOf(t, snapshot, 1)
			tear(first, second)
			c := fake.NewFakeClient(first, second)
			if _, err := Read(t.Context(), c, client.ObjectKey{Namespace: "acme", Name: snapshot.Name}); !errors.Is(err, ErrTorn) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func secretOf(t *testing.T, snapshot *Snapshot, chunk int) *corev1.Secret {
	t.Helper()
	secret, err := snapshot.secret(policy(), chunk)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestSecretOfSomebodyElseIsNotTaken(t *testing.T) {
	snapshot := snapshotOf(t, incompressible(1))
	c := fake.NewFakeClient(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: snapshot.Name}})
	if err := Write(t.Context(), c, c, policy(), snapshot); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("got %v", err)
	}
}

func TestContentBeyondTheLimitIsRefused(t *testing.T) {
	_, err := EncodeSnapshot("cache", testContent{Texts: []testText{{Text: strings.Repeat("x", MaxBytes)}}})
	tooLarge := &TooLargeError{}
	if !errors.As(err, &tooLarge) || tooLarge.Policy != "cache" {
		t.Errorf("got %v", err)
	}
}

func TestPruneKeepsWhatIsUsedAndTheLatest(t *testing.T) {
	var stored []Stored
	for i := range 10 {
		stored = append(stored, Stored{Name: fmt.Sprintf("cache-%d", i), Created: time.Unix(int64(i), 0)})
	}
	slices.Reverse(stored)
	var removed []string
	for _, revision := range Prune(stored, "cache-0", sets.New("cache-2")) {
		removed = append(removed, revision.Name)
	}
	if want := []string{"cache-1", "cache-3", "cache-4"}; !slices.Equal(removed, want) {
		t.Errorf("removed %v, want %v", removed, want)
	}
}
