package portforward

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 says so; nothing rests on it.
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"
)

// protocol is how kubelets forward ports over WebSockets (pkg/streaming/portforward of k8s.io/cri-streaming): each message begins
// with the number of a channel.
const protocol = "v4.channel.k8s.io"

// acceptGUID is what a server hashes together with the key that it was sent (RFC 6455, section 1.3).
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// Upgrader turns a request to an API server into a connection. A *transport.Transport is one.
type Upgrader interface {
	Upgrade(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error)
}

// Open opens a connection to a port of a pod, by way of its subresource portforward. What is on its other end is the cluster's
// word. Of its reads and writes one of each may be under way at a time.
func Open(ctx context.Context, through Upgrader, userAgent, namespace, pod string, port int32) (net.Conn, error) {
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(pod)) > 0 {
		return nil, fmt.Errorf("%.63q/%.63q is no name of a pod", namespace, pod)
	}
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	nonce := base64.StdEncoding.EncodeToString(key)
	path := "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/portforward?" + url.Values{"ports": {strconv.Itoa(int(port))}}.Encode()
	conn, response, err := through.Upgrade(ctx, path, http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {nonce}, "Sec-Websocket-Protocol": {protocol}, "User-Agent": {userAgent},
	})
	if err != nil {
		return nil, err
	}
	if response.Header.Get("Sec-Websocket-Accept") != acceptOf(nonce) || response.Header.Get("Sec-Websocket-Protocol") != protocol {
		_ = conn.Close() // Not to be used.
		return nil, errors.New("the cluster does not forward ports over WebSockets")
	}
	return newForwarded(conn), nil
}

func acceptOf(nonce string) string {
	digest := sha1.Sum([]byte(nonce + acceptGUID)) //nolint:gosec // See its import.
	return base64.StdEncoding.EncodeToString(digest[:])
}
