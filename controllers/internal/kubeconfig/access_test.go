package kubeconfig

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestExpiresAtIsTheEarliestEnd(t *testing.T) {
	soon, late := time.Unix(2_000_000_000, 0), time.Unix(3_000_000_000, 0)
	soonCert, _ := newPair(t, soon)
	lateCert, _ := newPair(t, late)
	for name, test := range map[string]struct {
		access Access
		want   time.Time
	}{
		"opaque token":              {Access{Token: "opaque"}, time.Time{}},
		"token with other dots":     {Access{Token: "a.b.c"}, time.Time{}},
		"JWT without exp":           {Access{Token: jwt(`{"sub":"x"}`)}, time.Time{}},
		"JWT beyond the year 9999":  {Access{Token: jwt(`{"exp":1e300}`)}, time.Time{}},
		"JWT":                       {Access{Token: jwt(`{"exp":2000000000}`)}, soon},
		"JWT with a fraction":       {Access{Token: jwt(`{"exp":2000000000.5}`)}, soon},
		"certificate":               {Access{CertData: soonCert}, soon},
		"certificate ends first":    {Access{CertData: soonCert, Token: jwt(`{"exp":3000000000}`)}, soon},
		"JWT ends first":            {Access{CertData: lateCert, Token: jwt(`{"exp":2000000000}`)}, soon},
		"intermediate ends first":   {Access{CertData: append(append([]byte{}, lateCert...), soonCert...)}, soon},
		"certificate, opaque token": {Access{CertData: lateCert, Token: "opaque"}, late},
	} {
		got, known := test.access.ExpiresAt()
		if !got.Equal(test.want) || known == test.want.IsZero() {
			t.Errorf("%s: got %v, %v, want %v", name, got, known, test.want)
		}
	}
}

func TestFingerprintChangesWithEveryField(t *testing.T) {
	seen := map[string]string{}
	for name, access := range map[string]Access{
		"empty":       {},
		"server":      {Server: "x"},
		"server name": {TLSServerName: "x"},
		"CA":          {CAData: []byte("x")},
		"certificate": {CertData: []byte("x")},
		"key":         {KeyData: []byte("x")},
		"token":       {Token: "x"},
		"proxy":       {ProxyURL: "x"},
	} {
		fingerprint := access.Fingerprint()
		if other, taken := seen[fingerprint]; taken {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		if fingerprint != access.Fingerprint() {
			t.Errorf("%s: two fingerprints of one value differ", name)
		}
		seen[fingerprint] = name
	}
}

func TestAccessNeverPrintsCredentials(t *testing.T) {
	access := Access{
		Server: "https://api", Token: secretValue, CertData: []byte(secretValue), KeyData: []byte(secretValue),
		ProxyURL: "http://user:" + secretValue + "@proxy",
	}
	marshalled, err := json.Marshal(access)
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		fmt.Sprintf("%v %+v %#v %s %q", access, access, access, access, access),
		fmt.Sprintf("%v %+v %#v", &access, &access, &access),
		fmt.Sprintf("%+v", struct{ Access Access }{access}),
		fmt.Sprint(access.MarshalLog()),
		string(marshalled),
	} {
		if strings.Contains(printed, secretValue) || strings.Contains(printed, fmt.Sprintf("%d", []byte(secretValue))) {
			t.Errorf("a credential was printed: %s", printed)
		}
		if !strings.Contains(printed, "https://api") {
			t.Errorf("the server is missing: %s", printed)
		}
	}
}
