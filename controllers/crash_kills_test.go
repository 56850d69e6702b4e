package controllers

import (
	"flag"
	"fmt"
	"testing"
)

var allKills = flag.Bool("all-kills", false, "end the manager after each of its writes, not only after every second or third one")

// sampledKills is how many writes apart two kills are without -all-kills. A life costs two seconds, and most writes are
// followed by one that is like them.
const sampledKills = 2

// mostKills is more than the writes of any life. A test that was not chosen to run does not tell when they end.
const mostKills = 200

// killAfterEach lets one write after the other be the manager's last, each in a test of its own, until play says that
// there was no such write. Without -all-kills it is every so manyth write, and the first one is another for each phase, so
// that neither the odd nor the even ones are always left out.
func killAfterEach(t *testing.T, prefix string, phase, every int, play func(t *testing.T, last int) bool) {
	t.Helper()
	first, step := 1+phase%every, every
	if *allKills {
		first, step = 1, 1
	}
	for last, blew := first, true; blew && !t.Failed() && last <= mostKills; last += step {
		t.Run(fmt.Sprintf("%sAfterWrite%d", prefix, last), func(t *testing.T) { blew = play(t, last) })
	}
}
