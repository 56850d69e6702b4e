package probe

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/internal/listenertest"
	"github.com/daytwo-dev/daytwo/internal/netguard"
)

var anywhere = netguard.Guard{Rule: netguard.All}.DialContext

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// selfSigned is a certificate that nobody has reason to trust.
func selfSigned(t *testing.T, serial *big.Int, notAfter time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: serial, NotBefore: notAfter.Add(-time.Hour), NotAfter: notAfter}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	leaf, err := x509.ParseCertificate(raw)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

func serveTLS(t *testing.T, config *tls.Config) string {
	return listenertest.Serve(t, func(conn net.Conn) { _ = tls.Server(conn, config).Handshake() })
}

func TestAProbeTellsWhatIsServedHoweverBadThatIs(t *testing.T) {
	expired := selfSigned(t, big.NewInt(0x7f01), time.Now().Add(-24*time.Hour).Truncate(time.Second))
	digest := sha256.Sum256(expired.Leaf.Raw)
	for name, config := range map[string]*tls.Config{
		"expired, and signed by itself":    {Certificates: []tls.Certificate{expired}},
		"with TLS 1.2":                     {Certificates: []tls.Certificate{expired}, MaxVersion: tls.VersionTLS12},
		"to those alone who have one":      {Certificates: []tls.Certificate{expired}, ClientAuth: tls.RequireAnyClientCert},
		"to those alone, and with TLS 1.2": {Certificates: []tls.Certificate{expired}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Ask(t.Context(), anywhere, serveTLS(t, config), "")
			if err != nil || got.Fingerprint != hex.EncodeToString(digest[:]) || got.SerialNumber != "7f01" || !got.NotAfter.Equal(expired.Leaf.NotAfter) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAProbeAsksForTheName(t *testing.T) {
	byName := map[string]tls.Certificate{}
	for i, name := range []string{"shop.example.com", "localhost"} {
		byName[name] = selfSigned(t, big.NewInt(int64(0x100+i)), time.Now().Add(time.Hour))
	}
	address := serveTLS(t, &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		found, is := byName[hello.ServerName]
		if !is {
			return nil, errors.New("no such name")
		}
		return &found, nil
	}})
	_, port, _ := net.SplitHostPort(address)
	for name, want := range map[string]string{"shop.example.com": "100", "localhost": "101"} {
		if got, err := Ask(t.Context(), anywhere, "localhost:"+port, name); err != nil || got.SerialNumber != want {
			t.Errorf("%q: got %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"other.example.com", ""} {
		if got, err := Ask(t.Context(), anywhere, address, name); err == nil {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}

func TestWhoeverAnswersAProbeIsBounded(t *testing.T) {
	flood := listenertest.Serve(t, func(conn net.Conn) {
		record := append([]byte{22, 3, 3, 0x40, 0}, make([]byte, 0x4000)...) // Handshake messages of no content, without end.
		for {
			if _, err := conn.Write(record); err != nil {
				return
			}
		}
	})
	silent := listenertest.Serve(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1<<20)); _, _ = conn.Read(make([]byte, 1)) })
	for name, test := range map[string]struct {
		address, hint string
		patience      time.Duration
	}{
		"a flood":           {address: flood, hint: flood},
		"silence":           {address: silent, hint: "did not answer", patience: 200 * time.Millisecond},
		"no TLS":            {address: listenertest.Serve(t, func(conn net.Conn) { _, _ = conn.Write([]byte("220 mail\r\n")) }), hint: "tls:"},
		"nobody":            {address: "127.0.0.1:1", hint: "refused"},
		"a name of nobody":  {address: "nobody.invalid:443", hint: "is not found"},
		"it closes at once": {address: listenertest.Serve(t, func(net.Conn) {}), hint: ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.patience, Timeout))
			defer cancel()
			got, err := Ask(ctx, anywhere, test.address, "")
			if err == nil || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAPrivateAddressIsNotProbedUnlessItMayBe(t *testing.T) {
	address := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{selfSigned(t, big.NewInt(1), time.Now())}})
	_, err := Ask(t.Context(), netguard.Guard{}.DialContext, address, "")
	if err == nil || !strings.Contains(err.Error(), "--allow-private-probes") {
		t.Errorf("got %v", err)
	}
}

func TestASerialNumberIsNoLongerThanAStatusHolds(t *testing.T) {
	serial := new(big.Int).Lsh(big.NewInt(1), 8*19)
	got, err := Ask(t.Context(), anywhere, serveTLS(t, &tls.Config{Certificates: []tls.Certificate{selfSigned(t, serial, time.Now())}}), "")
	if err != nil || len(got.SerialNumber) == 0 || len(got.SerialNumber) > maxSerial {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestProbesAreFartherApartTheMoreOftenTheyFail(t *testing.T) {
	last := time.Duration(0)
	for fails := int32(1); fails < 40; fails++ {
		pause := Next(fails, "a")
		if pause < last || pause > maxPause || pause < firstPause*9/10 {
			t.Fatalf("after %d fails: %s, after %s", fails, pause, last)
		}
		last = pause
	}
	spread := map[time.Duration]bool{}
	for _, id := range []string{"a", "b", "c", "d"} {
		pause := Next(0, id)
		if spread[pause] = true; pause > interval || pause < interval*9/10 || pause != Next(0, id) {
			t.Errorf("%s: %s", id, pause)
		}
	}
	if len(spread) != 4 {
		t.Errorf("four servers are probed after %v", spread)
	}
}
