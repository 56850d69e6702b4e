package charts

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsOnTheWaySayWhatToLookAt(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte(alice.Username + ":" + alice.Password))
	for words, err := range map[string]error{
		"within 1m0s":           context.DeadlineExceeded,
		"cancelled":             context.Canceled,
		"not signed by a CA":    x509.UnknownAuthorityError{},
		"for another name":      x509.HostnameError{Certificate: &x509.Certificate{}},
		"certificate has ex":    x509.CertificateInvalidError{Reason: x509.Expired},
		`"x.test" cannot be`:    &net.DNSError{Name: "x.test", Err: "no such host"},
		"connection refused":    &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"in the middle":         io.ErrUnexpectedEOF,
		"no answer in time":     os.ErrDeadlineExceeded,
		"read: connection":      &net.OpError{Op: "read", Source: &net.TCPAddr{Port: 54321}, Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"malformed HTTP":        &url.Error{Op: "Get", URL: "https://x.test/?signature=top-secret", Err: errors.New("malformed HTTP response")},
		"see https://x.test!":   errors.New(`see https://x.test/path?signature=top-secret !`),
		"sent (credentials) by": errors.New("sent " + basic + " by you"),
		"got (credentials),":    fmt.Errorf("got %s, %s", alice.Password, alice.Username),
		"xxx…":                  errors.New(strings.Repeat("x", 10000)),
	} {
		source := Source{Repository: stable, Name: "web", Version: "1.x", Credentials: alice}
		asked, invalid := check(source)
		if invalid != nil {
			t.Fatal(invalid)
		}
		s := NewFetcher(Options{}).open(t.Context(), t.Context(), asked)
		explained := s.explain(fmt.Errorf("read: %w", err))
		if s.describe(err) == err.Error() && len(err.Error()) > maxQuoted {
			t.Error("it was not clipped")
		}
		text := strings.ReplaceAll(explained.Error(), "https://x.test !", "https://x.test!")
		if !strings.Contains(text, words) || !strings.HasPrefix(text, "chart web in "+stable+": ") || !errors.Is(explained, err) {
			t.Errorf("got %q, want %q", text, words)
		}
		passes(t, explained)
		for _, secret := range []string{"top-secret", basic, "54321"} {
			if strings.Contains(text, secret) {
				t.Errorf("the message holds %s: %s", secret, text)
			}
		}
	}
}
