package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/daytwo-dev/daytwo/e2e/bench/floor"
)

// observedLabel is on all objects that are edited.
const observedLabel = "bench.daytwo.dev/observed"

// observer watches, over a connection of its own, what becomes of the edits in one cluster.
type observer struct {
	watch  watch.Interface
	events chan sight
}

// sight is one event and when it came.
type sight struct {
	object *corev1.ConfigMap
	at     time.Time
}

func observe(ctx context.Context, config *rest.Config) (*observer, error) {
	config = floor.OwnConnection(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	options := metav1.ListOptions{LabelSelector: observedLabel}
	list, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("list the observed objects: %w", err)
	}
	options.ResourceVersion = list.ResourceVersion
	watching, err := client.CoreV1().ConfigMaps(metav1.NamespaceAll).Watch(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("watch the observed objects: %w", err)
	}
	// Few events follow one edit, and they are taken out before the next.
	o := &observer{watch: watching, events: make(chan sight, 100)}
	go o.receive()
	return o, nil
}

func (o *observer) receive() {
	defer close(o.events)
	for event := range o.watch.ResultChan() {
		if object, ok := event.Object.(*corev1.ConfigMap); ok {
			o.events <- sight{object, time.Now()}
		}
	}
}

func (o *observer) stop() { o.watch.Stop() }

// skip drops the events that nobody waited for.
func (o *observer) skip() {
	for len(o.events) > 0 {
		<-o.events
	}
}

// restored returns when an object was first seen without an edit after it was seen with it.
func (o *observer) restored(ctx context.Context, key types.NamespacedName, stands func(*corev1.ConfigMap) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	edited := false
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("ConfigMap %s was not restored: %w", key, ctx.Err())
		case event, open := <-o.events:
			switch {
			case !open:
				return time.Time{}, errors.New("the watch of the observer ended")
			case event.object.Namespace != key.Namespace || event.object.Name != key.Name:
			case stands(event.object):
				edited = true
			case edited:
				return event.at, nil
			}
		}
	}
}
