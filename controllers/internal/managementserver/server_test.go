package managementserver

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// known are EndpointSlices as a cache holds them; nil for a cache that does not answer.
type known []discoveryv1.EndpointSlice

func (k known) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nobody gets one")
}

func (k known) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if k == nil {
		return errors.New("the cache is not synced")
	}
	list.(*discoveryv1.EndpointSliceList).Items = k
	return nil
}

func slice(port *int32, addresses ...string) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"},
		Ports:      []discoveryv1.EndpointPort{{Port: port}}, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}},
	}
}

func TestAddressesOfTheAPIServer(t *testing.T) {
	endpoints := known{slice(ptr.To(int32(6443)), "192.0.2.10", "192.0.2.11"), slice(ptr.To(int32(6443)), "2001:db8::10"), slice(nil, "192.0.2.12")}
	server := &Server{host: "10.96.0.1", port: 443, endpoints: endpoints}
	for address, want := range map[string]bool{
		"10.96.0.1:443": true, "[::ffff:10.96.0.1]:443": true, "[64:ff9b::10.96.0.1]:443": true, "10.96.0.1:6443": false,
		"192.0.2.10:6443": true, "192.0.2.11:6443": true, "[2001:db8::10]:6443": true, "[::ffff:192.0.2.10]:6443": true,
		"192.0.2.10:443": false, "192.0.2.12:6443": false, "192.0.2.13:6443": false,
	} {
		if got := server.Is(netip.MustParseAddrPort(address)); got != want {
			t.Errorf("%s: the API server's %t, want %t", address, got, want)
		}
	}
	server.host = "localhost"
	if !server.Is(netip.MustParseAddrPort("127.0.0.1:443")) || server.Is(netip.MustParseAddrPort("127.0.0.1:6443")) {
		t.Error("the name of the API server is not resolved")
	}
}

func TestAnAddressIsTakenForTheAPIServersWhereThoseAreNotKnown(t *testing.T) {
	address := netip.MustParseAddrPort("198.51.100.1:443")
	for name, server := range map[string]*Server{
		"no such name": {host: "management.invalid", port: 443, endpoints: known{}},
		"no endpoints": {host: "10.96.0.1", port: 443, endpoints: known(nil)},
	} {
		if !server.Is(address) {
			t.Errorf("%s: the address is taken for another's", name)
		}
	}
}

func TestPortOfAnAddress(t *testing.T) {
	for text, want := range map[string]uint16{"https://10.96.0.1": 443, "https://10.96.0.1:6443": 6443, "http://localhost": 80} {
		address, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := portOf(address); err != nil || got != want {
			t.Errorf("%s: port %d, want %d: %v", text, got, want, err)
		}
	}
}
