package evidence

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
)

// pair of keys, in PEM.
func pair(t *testing.T) (private, public []byte) {
	t.Helper()
	publicKey, privateKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, "PRIVATE KEY", privateKey, x509.MarshalPKCS8PrivateKey), encoded(t, "PUBLIC KEY", publicKey, x509.MarshalPKIXPublicKey)
}

func encoded(t *testing.T, block string, key any, marshal func(any) ([]byte, error)) []byte {
	t.Helper()
	raw, err := marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: block, Bytes: raw})
}

func TestASignatureIsOfOneDocumentAndKey(t *testing.T) {
	private, public := pair(t)
	_, foreign := pair(t)
	signer, err := NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	file := File{Name: "a.json", Content: []byte("{}\n")}
	signature := signer.Sign(file.Content)
	if again := signer.Sign(file.Content); again != signature {
		t.Error("another try signs otherwise")
	}
	for name, test := range map[string]struct {
		key       []byte
		content   string
		signature string
		holds     bool
	}{
		"the same":             {public, "{}\n", signature, true},
		"with a line break":    {public, "{}\n", signature + "\n", true},
		"another document":     {public, "{} \n", signature, false},
		"another key":          {foreign, "{}\n", signature, false},
		"no signature":         {public, "{}\n", "", false},
		"what is no signature": {public, "{}\n", "?", false},
		"a cut one":            {public, "{}\n", signature[:20], false},
	} {
		key, err := ParsePublicKey(test.key)
		if err != nil {
			t.Fatal(err)
		}
		err = key.VerifySignature(File{Name: file.Name, Content: []byte(test.content)}, []byte(test.signature))
		if (err == nil) != test.holds || err != nil && !strings.Contains(err.Error(), "a.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsNoKeyIsRefusedWithTheWayOut(t *testing.T) {
	private, public := pair(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("key"), "of the other kind": public, "cut": bytes.Replace(private, []byte("MC4"), []byte("MC"), 1),
		"another algorithm": encoded(t, "PRIVATE KEY", other, x509.MarshalPKCS8PrivateKey),
	} {
		if _, err := NewSigner(file); err == nil || !strings.Contains(err.Error(), "openssl") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParsePublicKey(private); err == nil || !strings.Contains(err.Error(), "openssl") {
		t.Errorf("a private key is taken for a public one: %v", err)
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	private, _ := pair(t)
	signer, err := NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, signer); text != "[redacted]" {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
