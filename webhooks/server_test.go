package webhooks

import (
	"flag"
	"strings"
	"testing"
)

func TestWebhooksAreServedOnlyWhereTheyCanBe(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		says      []string
	}{
		"by default":     {nil, nil},
		"off":            {[]string{"--webhook-bind-address=0"}, nil},
		"no port":        {[]string{"--webhook-bind-address=localhost"}, []string{"--webhook-bind-address=localhost", ":9443"}},
		"a port of 0":    {[]string{"--webhook-bind-address=:0"}, []string{"--webhook-bind-address=:0", ":9443"}},
		"no certificate": {[]string{"--webhook-bind-address=:9443"}, []string{"--webhook-cert-dir=/etc/daytwo/webhook", "tls.crt", "--webhook-bind-address=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			flags, set := Flags{}, flag.NewFlagSet("daytwo", flag.ContinueOnError)
			flags.Bind(set)
			if err := set.Parse(test.arguments); err != nil {
				t.Fatal(err)
			}
			server, err := flags.Server()
			if server != nil || (err != nil) != (len(test.says) > 0) {
				t.Fatalf("Server() = %v, %v", server, err)
			}
			for _, text := range test.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
		})
	}
}
