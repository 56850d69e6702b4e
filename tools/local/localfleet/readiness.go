package localfleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

const (
	readyEvery = 50 * time.Millisecond
	// Two seconds on an idle machine; far more while something else compiles.
	readyDeadline = 5 * time.Minute
	// A server that starts can take a connection long before it answers.
	requestTimeout = 2 * time.Second
	logTailLines   = 15
)

// waitReady waits until ready returns nil. It gives up when one of the programs
// ends, and then shows the end of what that logged.
func waitReady(ctx context.Context, ready func(context.Context) error, programs ...*process.Process) error {
	var last error
	suspect := programs[0]
	err := wait.PollUntilContextTimeout(ctx, readyEvery, readyDeadline, true,
		func(ctx context.Context) (bool, error) {
			for _, p := range programs {
				if !p.Alive() {
					suspect = p
					return false, endedByItself(p)
				}
			}
			last = ready(ctx)
			return last == nil, nil
		})
	if err == nil {
		return nil
	}
	if wait.Interrupted(err) && last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return fmt.Errorf("%s did not become ready: %w; %s", suspect.Name(), err, lastWords(suspect))
}

func endedByItself(p *process.Process) error {
	if state := p.Ended(); state != nil {
		return fmt.Errorf("it ended by itself: %s", state)
	}
	return errors.New("it ended by itself")
}

func lastWords(p *process.Process) string {
	said, err := p.LastLines(logTailLines)
	switch {
	case err != nil:
		return fmt.Sprintf("what it logged cannot be read: %v", err)
	case said == "":
		return fmt.Sprintf("it logged nothing to %s", p.Log())
	}
	return fmt.Sprintf("the end of %s:\n%s", p.Log(), said)
}

// getOK returns nil if a GET of url is answered with 200 in time.
func getOK(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
