package renewedtoken

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

func TestARefusalLastsUntilTheCredentialsAreAccepted(t *testing.T) {
	refused, accepted, awaited := Answer{Refused: true}, Answer{Accepted: true}, Answer{}
	earlier := now.Add(-time.Hour)
	for name, c := range map[string]struct {
		before      Refusals
		credentials string
		answer      Answer
		want        Refusals
	}{
		"the first":                  {nil, "token", refused, Refusals{"token": now}},
		"once more":                  {Refusals{"token": earlier}, "token", refused, Refusals{"token": now}},
		"of others":                  {Refusals{"token": earlier}, "own", refused, Refusals{"token": earlier, "own": now}},
		"accepted":                   {Refusals{"token": earlier, "own": earlier}, "token", accepted, Refusals{"own": earlier}},
		"no answer yet":              {Refusals{"token": earlier}, "token", awaited, Refusals{"token": earlier}},
		"nothing to be refused":      {nil, "", refused, Refusals{}},
		"nothing was, and it is now": {nil, "token", accepted, Refusals{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.before.After(c.credentials, c.answer, now); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Who renews credentials that a cluster refuses does so for as long as they like.
func TestRefusalsAreBounded(t *testing.T) {
	var all Refusals
	for i := range 100 {
		all = all.After(fmt.Sprint(i), Answer{Refused: true}, now.Add(time.Duration(i)*time.Second))
	}
	if _, ok := all["99"]; !ok || len(all) > maxRefusals {
		t.Errorf("%d are remembered: %v", len(all), all)
	}
}
