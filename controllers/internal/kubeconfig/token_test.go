package kubeconfig

import (
	"errors"
	"strings"
	"testing"
)

func TestATokenTakesThePlaceOfAllOtherCredentials(t *testing.T) {
	own := Access{
		Server: "https://blue.example", TLSServerName: "blue", CAData: []byte("ca"), ProxyURL: "http://proxy.example",
		CertData: []byte("cert"), KeyData: []byte("key"), Token: "old",
	}
	got, err := own.WithToken("new")
	if err != nil || got.Token != "new" || got.CertData != nil || got.KeyData != nil || !got.LeadsWhere(own) {
		t.Errorf("got %#v with %d bytes of a certificate, %v", got, len(got.CertData), err)
	}
	if own.Token != "old" || own.CertData == nil {
		t.Error("the access that it was made of has changed")
	}
	for name, token := range map[string]string{
		"empty": "", "two lines": "a\nb", "a space": "a b", "not ASCII": "töken", "too long": strings.Repeat("a", MaxTokenBytes+1),
	} {
		if _, err := own.WithToken(token); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnotherAddressIsToldFromOtherCredentials(t *testing.T) {
	own := Access{Server: "https://blue.example", TLSServerName: "blue", CAData: []byte("ca"), ProxyURL: "http://proxy.example", Token: "t"}
	for name, change := range map[string]func(*Access){
		"server": func(a *Access) { a.Server = "https://green.example" },
		"name":   func(a *Access) { a.TLSServerName = "green" },
		"CA":     func(a *Access) { a.CAData = []byte("other") },
		"proxy":  func(a *Access) { a.ProxyURL = "" },
	} {
		other := own
		change(&other)
		if own.LeadsWhere(other) {
			t.Errorf("another %s is not noticed", name)
		}
	}
	other := own
	other.Token, other.CertData = "u", []byte("cert")
	if !own.LeadsWhere(other) {
		t.Error("other credentials are taken for another address")
	}
}
