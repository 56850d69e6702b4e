// Package kubelet stands in for the part of kubelet that forwards ports, in clusters whose pods have no containers: the API
// server proxies to it what people and Daytwo ask the subresource portforward of a pod.
package kubelet

import (
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protocol of forwarded ports over WebSockets, as in pkg/streaming/portforward of k8s.io/cri-streaming: each message begins with
// the number of a channel.
const (
	protocol     = "v4.channel.k8s.io"
	dataChannel  = 0
	errorChannel = 1
)

// Start forwards ports, each to an address, until the test ends, and returns the node on which it does. Of other ports it says
// that nothing listens there.
func Start(t testing.TB, node string, ports map[string]string) *corev1.Node {
	t.Helper()
	server := httptest.NewTLSServer(websocket.Server{Handshake: negotiate, Handler: func(socket *websocket.Conn) { serve(socket, ports) }})
	t.Cleanup(server.Close)
	address := server.Listener.Addr().(*net.TCPAddr)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.IP.String()}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(address.Port)}},
		},
	}
}

// Pod is one on a node.
func Pod(namespace, name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "example.com/web"}}},
	}
}

func negotiate(config *websocket.Config, _ *http.Request) error {
	if len(config.Protocol) != 1 || config.Protocol[0] != protocol {
		return errors.New("no such protocol")
	}
	return nil
}

func serve(socket *websocket.Conn, ports map[string]string) {
	port := socket.Request().URL.Query().Get("port")
	number, _ := strconv.Atoi(port) // The API server has checked it.
	told := binary.LittleEndian.AppendUint16(nil, uint16(number))
	for _, channel := range []byte{dataChannel, errorChannel} {
		if err := websocket.Message.Send(socket, append([]byte{channel}, told...)); err != nil {
			return
		}
	}
	to, err := net.Dial("tcp", ports[port])
	if err != nil {
		_ = websocket.Message.Send(socket, append([]byte{errorChannel}, "nothing listens there"...))
		return
	}
	forward(socket, to)
}

// forward copies both ways until either ends.
func forward(socket *websocket.Conn, to net.Conn) {
	go func() {
		defer func() { _ = to.Close() }()
		for {
			var message []byte
			if websocket.Message.Receive(socket, &message) != nil || len(message) == 0 {
				return
			}
			if _, err := to.Write(message[1:]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 100<<10)
	for {
		n, err := to.Read(buffer)
		if err != nil || websocket.Message.Send(socket, append([]byte{dataChannel}, buffer[:n]...)) != nil {
			return
		}
	}
}
