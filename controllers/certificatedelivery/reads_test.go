package certificatedelivery

import (
	"context"
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// heldReader answers reads once it is let go, and counts them.
type heldReader struct {
	client.Reader
	begun, released chan struct{}
	mutex           sync.Mutex
	reads           int
}

func newHeldReader() *heldReader {
	return &heldReader{begun: make(chan struct{}, 100), released: make(chan struct{})}
}

func (r *heldReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	r.mutex.Lock()
	r.reads++
	r.mutex.Unlock()
	r.begun <- struct{}{}
	select {
	case <-r.released:
		into.SetName(key.Name)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestReadsOfOneIssuanceAreNotKept(t *testing.T) {
	reads, reader := &sharedReads{}, newHeldReader()
	close(reader.released)
	for range 2 {
		secret, err := reads.issuance(t.Context(), reader, types.NamespacedName{Namespace: "acme", Name: "web-1"})
		if err != nil || secret.Name != "web-1" {
			t.Fatal(secret, err)
		}
	}
	if reader.reads != 2 {
		t.Errorf("%d reads for two deliveries one after the other", reader.reads)
	}
}

// A delivery whose reconcile ends takes nobody else's read with it.
func TestAnEndedReadFailsNoOtherDelivery(t *testing.T) {
	reads, reader := &sharedReads{}, newHeldReader()
	key := types.NamespacedName{Namespace: "acme", Name: "web-1"}
	ending, end := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := reads.issuance(ending, reader, key)
		first <- err
	}()
	<-reader.begun
	var secret *corev1.Secret
	second := make(chan error, 1)
	go func() {
		var err error
		secret, err = reads.issuance(t.Context(), reader, key)
		second <- err
	}()
	end()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the read that was ended: %v", err)
	}
	close(reader.released)
	if err := <-second; err != nil || secret.Name != "web-1" {
		t.Error(secret, err)
	}
}
