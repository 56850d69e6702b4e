package namepattern

import "testing"

func TestWhatAPatternAllows(t *testing.T) {
	for _, row := range []struct {
		kind          Kind
		pattern, name string
		want          bool
	}{
		{DNSName, "shop.example.com", "shop.example.com", true},
		{DNSName, "shop.example.com", "www.shop.example.com", false},
		{DNSName, "*.example.com", "shop.example.com", true},
		{DNSName, "*.example.com", "*.example.com", true},
		{DNSName, "*.example.com", "example.com", false},
		{DNSName, "*.example.com", "a.b.example.com", false},
		{DNSName, "*.example.com", "*.b.example.com", false},
		{DNSName, "*.example.com", ".example.com", false},
		{DNSName, "*.example.com", "a*.example.com", false},
		{DNSName, "*.example.com", "a\x00.example.com", false},
		{DNSName, "*.example.com", "aexample.com", false},
		{DNSName, "*.example.com", "shop.example.com.evil.test", false},
		{DNSName, "shop.example.com", "*.example.com", false},
		{CommonName, "shop", "shop", true},
		{CommonName, "shop", "Shop", false},
		{CommonName, "*.shop", "a.shop", true},
		{CommonName, "*.shop", "a b.shop", false},
		{IPAddress, "10.0.0.0/8", "10.1.2.3", true},
		{IPAddress, "10.0.0.0/8", "11.0.0.1", false},
		{IPAddress, "10.0.0.1", "10.0.0.1", true},
		{IPAddress, "10.0.0.1", "10.0.0.2", false},
		{IPAddress, "::ffff:10.0.0.1", "10.0.0.1", true},
		{IPAddress, "2001:db8::/32", "2001:db8::1", true},
		{IPAddress, "0.0.0.0/0", "2001:db8::1", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns/a/sa/b", true},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns/a/b/sa/c", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns//sa/b", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns/../sa/b", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns/a%2Fb/sa/b", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://td/ns/a/sa/b?c", false},
		{URI, "spiffe://td/ns/*/sa/*", "spiffe://other/ns/a/sa/b", false},
		{URI, "spiffe://td/ns/a", "spiffe://td/ns/a", true},
		{EmailAddress, "*@example.com", "Ada@example.com", true},
		{EmailAddress, "*@example.com", "@example.com", false},
		{EmailAddress, "*@example.com", "ada@sub.example.com", false},
		{EmailAddress, "*@example.com", "a@b@example.com", false},
		{EmailAddress, "ada@example.com", "bob@example.com", false},
	} {
		if err := Check(row.kind, row.pattern); err != nil {
			t.Errorf("%s %q: %v", row.kind, row.pattern, err)
		}
		if got := Matches(row.kind, row.pattern, row.name); got != row.want {
			t.Errorf("%s: %q allows %q: %t", row.kind, row.pattern, row.name, got)
		}
	}
}

func TestWhatIsNoPattern(t *testing.T) {
	for _, row := range []struct {
		kind    Kind
		pattern string
	}{
		{DNSName, "*"},
		{DNSName, "*."},
		{DNSName, "a.*.example.com"},
		{DNSName, "*.*.example.com"},
		{DNSName, "a*.example.com"},
		{DNSName, "Shop.example.com"},
		{DNSName, "shop.example.com."},
		{CommonName, "a*"},
		{CommonName, "*.*"},
		{IPAddress, "10.0.0.1/8"},
		{IPAddress, "10.0.0.*"},
		{IPAddress, "::ffff:10.0.0.0/104"},
		{IPAddress, "fe80::1%eth0"},
		{URI, "*"},
		{URI, "spiffe://*/ns"},
		{URI, "*://td/ns"},
		{URI, "spiffe://td/a*"},
		{URI, "spiffe://td/a?*"},
		{URI, "spiffe://TD/a"},
		{URI, "spiffe://ada@td/a"},
		{EmailAddress, "example.com"},
		{EmailAddress, "*"},
		{EmailAddress, "a*@example.com"},
		{EmailAddress, "ada@*"},
		{EmailAddress, "a@b@example.com"},
		{EmailAddress, "ada@Example.com"},
	} {
		if err := Check(row.kind, row.pattern); err == nil {
			t.Errorf("%s %q is taken", row.kind, row.pattern)
		}
	}
}

func TestPatternsThatStandForMoreThanOneName(t *testing.T) {
	for pattern, kind := range map[string]Kind{"*.example.com": DNSName, "10.0.0.0/8": IPAddress, "{{ .Cluster.Name }}/8": IPAddress, "a://b/*": URI, "*@b": EmailAddress, "*.a": CommonName} {
		if !IsWide(kind, pattern) {
			t.Errorf("%q stands for one name", pattern)
		}
	}
	for pattern, kind := range map[string]Kind{"example.com": DNSName, "10.0.0.1": IPAddress, "a://b/c": URI, "a@b": EmailAddress} {
		if IsWide(kind, pattern) {
			t.Errorf("%q stands for several names", pattern)
		}
	}
}
