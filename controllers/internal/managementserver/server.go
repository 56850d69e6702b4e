package managementserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// +kubebuilder:rbac:groups=discovery.k8s.io,namespace=default,resources=endpointslices,verbs=list;watch

// patience bounds a look at the endpoints together with a resolution of the API server's name.
const patience = 5 * time.Second

// ofKubernetes selects the EndpointSlices of the Service kubernetes, which leads to the API servers themselves.
var ofKubernetes = labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: "kubernetes"})

// CacheOptions narrow the manager's cache to the endpoints of the API server.
func CacheOptions() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&discoveryv1.EndpointSlice{}: {Namespaces: map[string]cache.Config{metav1.NamespaceDefault: {LabelSelector: ofKubernetes}}},
	}
}

// Server is the management cluster's API server. It is safe for concurrent use.
type Server struct {
	host      string
	port      uint16
	endpoints client.Reader
}

// New returns the API server that a configuration leads to. Its endpoints come from a cache with the CacheOptions.
func New(ctx context.Context, config *rest.Config, endpoints cache.Cache) (*Server, error) {
	address, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the management cluster: %w", err)
	}
	port, err := portOf(address)
	if err != nil {
		return nil, fmt.Errorf("port of the management cluster: %w", err)
	}
	// Begun here, so that a right that is missing shows when the manager starts.
	if _, err := endpoints.GetInformer(ctx, &discoveryv1.EndpointSlice{}, cache.BlockUntilSynced(false)); err != nil {
		return nil, fmt.Errorf("watch the endpoints of the management cluster: %w", err)
	}
	return &Server{host: address.Hostname(), port: port, endpoints: endpoints}, nil
}

func portOf(address *url.URL) (uint16, error) {
	if address.Port() == "" {
		return map[string]uint16{"http": 80, "https": 443}[address.Scheme], nil
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	return uint16(port), err
}

// Is tells whether an address is one of the API server's. Where that cannot be found out it is taken for one.
func (s *Server) Is(address netip.AddrPort) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	own, err := s.own(ctx)
	if err != nil {
		return true
	}
	found := &discoveryv1.EndpointSliceList{}
	if err := s.endpoints.List(ctx, found); err != nil {
		return true
	}
	// A Guard compares what addresses stand for.
	return !netguard.Guard{Rule: netguard.All, DeniedPorts: append(own, published(found.Items)...)}.Permits(address)
}

// own are the addresses that the manager itself talks to.
func (s *Server) own(ctx context.Context) ([]netip.AddrPort, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", s.host)
	if err != nil {
		return nil, err
	}
	addresses := make([]netip.AddrPort, 0, len(found))
	for _, address := range found {
		addresses = append(addresses, netip.AddrPortFrom(address, s.port))
	}
	return addresses, nil
}

// published are the addresses in EndpointSlices.
func published(found []discoveryv1.EndpointSlice) []netip.AddrPort {
	var addresses []netip.AddrPort
	for _, slice := range found {
		for _, endpoint := range slice.Endpoints {
			for _, text := range endpoint.Addresses {
				address, err := netip.ParseAddr(text)
				if err != nil {
					continue
				}
				for _, port := range slice.Ports {
					if port.Port != nil {
						addresses = append(addresses, netip.AddrPortFrom(address, uint16(*port.Port))) //nolint:gosec // The API server keeps it below 65536.
					}
				}
			}
		}
	}
	return addresses
}
