package fleet

import (
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet/transport"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxDescribed bounds a description in bytes: it is kept as long as what it tells of lasts.
const maxDescribed = 4 << 10

// Describe says why a cluster could not be asked, as the state of a connection does: in the same words in each attempt, and
// with nothing in them of what answered.
func Describe(err error) string { return truncate.Message(transport.Explain(err), maxDescribed) }

// describeWatch says why a kind cannot be watched, in the words of the cluster where it has some: it is admitted, so it answers
// as the API server that its owner knows.
func describeWatch(err error) string {
	if transport.IsUnexplained(err) {
		return truncate.Message(err.Error(), maxDescribed)
	}
	return Describe(err)
}
