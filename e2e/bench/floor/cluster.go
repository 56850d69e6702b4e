package floor

import (
	"fmt"
	"net"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// Manager is the field manager of what this package writes.
const Manager = "bare-loop"

// Kind of objects, and how it is watched.
type Kind struct {
	schema.GroupVersionResource
	// Whole objects are watched where a status tells of their health, metadata only elsewhere.
	Whole bool
}

// Object that is ready to be applied.
type Object struct {
	schema.GroupVersionResource
	// Namespace is empty for an object of the whole cluster.
	Namespace string
	Name      string
	// Body is the object as JSON.
	Body []byte
}

// Cluster is an uncached client of one cluster, over a connection of its own.
type Cluster struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
}

// Connect makes a client. The connection is opened by the first request.
func Connect(config *rest.Config) (*Cluster, error) {
	config = OwnConnection(config)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	c := &Cluster{}
	if c.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, httpClient); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", config.Host, err)
	}
	return c, nil
}

// OwnConnection returns a configuration whose clients share no connection with those of others, as
// client-go would make them otherwise.
func OwnConnection(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	return config
}

// at returns the client for an object.
func (c *Cluster) at(object Object) metadata.ResourceInterface {
	resource := c.metadata.Resource(object.GroupVersionResource)
	if object.Namespace == "" {
		return resource
	}
	return resource.Namespace(object.Namespace)
}

func selecting(labels map[string]string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})}
}
