package charts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// clerk stands for a Fetcher whose fetches take as long as their host says.
type clerk struct {
	mu      sync.Mutex
	takes   map[string]time.Duration // by repository; the others take a second
	size    int
	started []string
	ended   []error
	now     map[string]int // by repository
	most    map[string]int
}

func newClerk() *clerk {
	return &clerk{takes: map[string]time.Duration{}, now: map[string]int{}, most: map[string]int{}}
}

func (c *clerk) stall(repository string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takes[repository] = time.Hour
}

// look returns what happened so far.
func (c *clerk) look() (started []string, ended []error, most map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.started), slices.Clone(c.ended), maps.Clone(c.most)
}

func (c *clerk) count(repository string, change int) {
	c.now[repository] += change
	c.most[repository] = max(c.most[repository], c.now[repository])
}

func (c *clerk) fetch(ctx context.Context, source Source) (*Chart, error) {
	c.mu.Lock()
	c.started = append(c.started, source.Name)
	c.count(source.Repository, 1)
	c.count("", 1)
	takes, known := c.takes[source.Repository]
	if !known {
		takes = time.Second
	}
	c.mu.Unlock()
	var err error
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(source.Repository, -1)
	c.count("", -1)
	c.ended = append(c.ended, err)
	if err != nil {
		return nil, err
	}
	return &Chart{Name: source.Name, Version: source.Version, Archive: make([]byte, c.size)}, nil
}

// after lets time pass on the test's own clock, and what it sets off come to rest.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func of(host, name string) Source {
	return Source{Repository: "https://" + host, Name: name, Version: "1.0.0"}
}

// inAsyncFetcher runs a test with an AsyncFetcher that notes who was told, under a clock that runs by itself.
func inAsyncFetcher(t *testing.T, options AsyncFetcherOptions[string], test func(*testing.T, *AsyncFetcher[string], *clerk, func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		options.Done = func(key string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, key)
		}
		c := newClerk()
		d := newAsyncFetcher(c.fetch, options)
		defer d.Close()
		test(t, d, c, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Sorted(slices.Values(told))
		})
	})
}

func ready(t *testing.T, d *AsyncFetcher[string], key string, source Source, token string) Result {
	t.Helper()
	result, ready := d.Request(key, source, token)
	if !ready {
		t.Fatalf("%s is not ready", key)
	}
	return result
}

func notReady(t *testing.T, d *AsyncFetcher[string], key string, source Source, token string) {
	t.Helper()
	if result, ready := d.Request(key, source, token); ready {
		t.Fatalf("%s is ready: %v", key, result)
	}
}

func TestRequestNeverWaitsAndTheKeyIsTold(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		start := time.Now()
		notReady(t, d, "a", of("x.test", "web"), "1")
		notReady(t, d, "a", of("x.test", "web"), "1")
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %s", took)
		}
		after(time.Minute)
		if got := told(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("told: %v", got)
		}
		for range 2 { // kept until it is forgotten
			if result := ready(t, d, "a", of("x.test", "web"), "1"); result.Err != nil || result.Chart.Name != "web" {
				t.Errorf("got %v", result)
			}
		}
		d.Forget("a")
		d.Forget("nobody")
		if started, _, _ := c.look(); len(d.orders) != 0 || len(started) != 1 {
			t.Errorf("%d orders are kept, and the fetches are %v", len(d.orders), started)
		}
		notReady(t, d, "a", of("x.test", "web"), "1")
	})
}

func TestNewTokenOrSourceIsFetchedAgain(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		for i, attempt := range []struct {
			source Source
			token  string
		}{{of("x.test", "web"), "1"}, {of("x.test", "web"), "2"}, {of("x.test", "app"), "2"}} {
			notReady(t, d, "a", attempt.source, attempt.token)
			after(time.Minute)
			if result := ready(t, d, "a", attempt.source, attempt.token); result.Chart.Name != attempt.source.Name {
				t.Errorf("got %v", result.Chart)
			}
			if started, _, _ := c.look(); len(started) != i+1 {
				t.Errorf("the fetches are %v", started)
			}
		}
	})
}

func TestFailureIsKeptUntilANewToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		calls := 0
		d := newAsyncFetcher(func(context.Context, Source) (*Chart, error) { calls++; return nil, broken }, AsyncFetcherOptions[string]{})
		defer d.Close()
		for attempt := range 3 {
			token := fmt.Sprint(attempt)
			notReady(t, d, "a", of("x.test", "web"), token)
			synctest.Wait()
			for range 2 {
				if result := ready(t, d, "a", of("x.test", "web"), token); !errors.Is(result.Err, broken) || result.Chart != nil {
					t.Errorf("got %v", result)
				}
			}
		}
		if calls != 3 {
			t.Errorf("%d fetches for 3 tokens", calls)
		}
	})
}

func TestInvalidSourceIsToldAtOnce(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		notReady(t, d, "a", of("x.test", "web"), "1")
		source := of("x.test", "web")
		source.Version = ""
		refusedFor(t, ready(t, d, "a", source, "1").Err, InvalidSource, "version")
		synctest.Wait()
		if _, ended, _ := c.look(); len(d.orders) != 0 || len(ended) != 1 || ended[0] == nil {
			t.Error("what was requested before goes on")
		}
	})
}

func TestSameSourceIsFetchedOnceForAllWhoWait(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		other := of("x.test", "web")
		other.Credentials = alice
		for _, key := range []string{"a", "b", "c"} {
			notReady(t, d, key, of("x.test", "web"), "of "+key)
		}
		notReady(t, d, "d", other, "1")
		notReady(t, d, "a", of("x.test", "web"), "a newer token")
		d.Forget("c")
		after(time.Minute)
		if started, _, _ := c.look(); len(started) != 2 {
			t.Errorf("%d fetches, want one for each sort of credentials", len(started))
		}
		if got := told(); !slices.Equal(got, []string{"a", "b", "d"}) {
			t.Errorf("told: %v", got)
		}
		if ready(t, d, "a", of("x.test", "web"), "a newer token").Chart != ready(t, d, "b", of("x.test", "web"), "of b").Chart {
			t.Error("they do not share the chart")
		}
	})
}

func TestFetchThatNobodyWaitsForIsEnded(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{AtOnce: 1}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		notReady(t, d, "a", of("x.test", "web"), "1")
		notReady(t, d, "b", of("x.test", "web"), "1")
		notReady(t, d, "waits", of("x.test", "app"), "1")
		notReady(t, d, "next", of("x.test", "zoo"), "1")
		d.Forget("waits")
		d.Forget("a")
		synctest.Wait()
		if _, ended, _ := c.look(); len(ended) != 0 {
			t.Error("a fetch was ended that somebody waits for")
		}
		d.Forget("b")
		notReady(t, d, "c", of("x.test", "web"), "1") // does not join what has been cancelled
		after(time.Minute)
		started, ended, _ := c.look()
		if !slices.Equal(started, []string{"web", "zoo", "web"}) || !errors.Is(ended[0], context.Canceled) || ended[1] != nil {
			t.Errorf("started %v, ended with %v", started, ended)
		}
		if got := told(); !slices.Equal(got, []string{"c", "next"}) {
			t.Errorf("told: %v", got)
		}
	})
}
