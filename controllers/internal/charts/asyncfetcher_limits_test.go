package charts

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStallingHostHoldsUpNobodyElse(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{AtOnce: 4, PerHost: 2}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		c.stall("https://stalls.test")
		for i := range 20 {
			notReady(t, d, fmt.Sprint("stalls ", i), of("stalls.test", fmt.Sprint("web-", i)), "1")
		}
		for i := range 6 {
			notReady(t, d, fmt.Sprint("works ", i), of("works.test", fmt.Sprint("web-", i)), "1")
		}
		after(3*time.Second + time.Millisecond)
		if got := told(); len(got) != 6 || slices.ContainsFunc(got, func(key string) bool { return !strings.HasPrefix(key, "works") }) {
			t.Errorf("told after six fetches of a second, two at a time: %v", got)
		}
		if _, _, most := c.look(); most["https://stalls.test"] != 2 || most["https://works.test"] != 2 || most[""] != 4 {
			t.Errorf("the most at a time: %v", most)
		}
		after(24 * time.Hour)
		if got := told(); len(got) != 26 {
			t.Errorf("told: %v", got)
		}
		if len(d.tasks.current)+d.tasks.order.Waiting()+d.tasks.order.Held() != 0 {
			t.Errorf("something is still counted: %+v", d.tasks)
		}
	})
}

func TestTenantWithManyStallingHostsHoldsUpNobodyElse(t *testing.T) {
	tenant := func(key string) string { return strings.SplitN(key, "/", 2)[0] }
	inAsyncFetcher(t, AsyncFetcherOptions[string]{AtOnce: 4, PerTenant: 3, Tenant: tenant}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		for i := range 20 {
			host := fmt.Sprintf("h%d.evil.test", i)
			c.stall("https://" + host)
			notReady(t, d, fmt.Sprint("evil/", i), of(host, "web"), "1")
		}
		notReady(t, d, "acme/a", of("works.test", "web"), "1")
		after(2 * time.Second)
		if got := told(); !slices.Equal(got, []string{"acme/a"}) {
			t.Errorf("told: %v", got)
		}
	})
}

func TestATenantFetchesWhateverOthersHaveStall(t *testing.T) {
	tenant := func(key string) string { return strings.SplitN(key, "/", 2)[0] }
	inAsyncFetcher(t, AsyncFetcherOptions[string]{Tenant: tenant}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		for i := range 6 * 20 {
			host := fmt.Sprintf("h%d.evil.test", i)
			c.stall("https://" + host)
			notReady(t, d, fmt.Sprintf("evil%d/%d", i/20, i), of(host, "web"), "1")
		}
		notReady(t, d, "acme/a", of("works.test", "web"), "1")
		after(2 * time.Second)
		if got := told(); !slices.Equal(got, []string{"acme/a"}) {
			t.Errorf("told: %v", got)
		}
	})
}

func TestATenantLeavesPlacesAtAHostToOthers(t *testing.T) {
	tenant := func(key string) string { return strings.SplitN(key, "/", 2)[0] }
	inAsyncFetcher(t, AsyncFetcherOptions[string]{Tenant: tenant}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		c.stall("https://shared.test")
		for i := range 20 {
			notReady(t, d, fmt.Sprint("evil/", i), of("shared.test", fmt.Sprint("web-", i)), "1")
		}
		for i := range 20 {
			notReady(t, d, fmt.Sprint("acme/", i), of("shared.test", fmt.Sprint("db-", i)), "1")
		}
		after(time.Second)
		for name, held := range map[string]int{"evil": 2, "acme": 2} {
			count := 0
			for _, work := range d.tasks.current {
				for key := range work.keys {
					if work.cancel != nil && tenant(key) == name {
						count++
					}
				}
			}
			if count != held {
				t.Errorf("%d fetches of %s are under way, want %d", count, name, held)
			}
		}
	})
}

func TestOldestResultsAreDroppedAboveTheBytes(t *testing.T) {
	inAsyncFetcher(t, AsyncFetcherOptions[string]{KeepBytes: 1000}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		c.size = 400
		for i, name := range []string{"one", "two", "three"} {
			notReady(t, d, name, of("x.test", name), "1")
			notReady(t, d, name+" again", of("x.test", name), "1") // shares it, and costs nothing
			after(time.Minute)
			if i < 2 && d.resultCache.bytes != int64(i+1)*400 {
				t.Errorf("%d bytes", d.resultCache.bytes)
			}
		}
		for _, name := range []string{"two", "three"} {
			ready(t, d, name, of("x.test", name), "1")
			ready(t, d, name+" again", of("x.test", name), "1")
		}
		notReady(t, d, "one", of("x.test", "one"), "1")
		c.size = 5000
		notReady(t, d, "large", of("x.test", "large"), "1")
		after(time.Minute)
		if d.resultCache.bytes > 5000 {
			t.Errorf("%d bytes are kept", d.resultCache.bytes)
		}
		for key := range d.orders {
			d.Forget(key)
		}
		if d.resultCache.bytes != 0 || len(d.resultCache.kept) != 0 || len(d.resultCache.uses) != 0 {
			t.Errorf("something is still counted: %+v", d.resultCache)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	// synctest fails the test if a goroutine is left.
	inAsyncFetcher(t, AsyncFetcherOptions[string]{AtOnce: 2}, func(t *testing.T, d *AsyncFetcher[string], c *clerk, told func() []string) {
		for i := range 5 {
			notReady(t, d, fmt.Sprint(i), of("x.test", fmt.Sprint("web-", i)), "1")
		}
		d.Close()
		d.Close()
		if _, ended, _ := c.look(); len(ended) != 2 || len(told()) != 0 {
			t.Errorf("ended: %v, told: %v", ended, told())
		}
		if result := ready(t, d, "0", of("x.test", "web-0"), "1"); !errors.Is(result.Err, ErrClosed) {
			t.Errorf("got %v", result)
		}
		d.Forget("0")
	})
}

func TestDeskFetchesFromRealServersAndLeavesNothing(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	w.serve(s.mux, "charts.test")
	stalls := w.serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), "stalls.test")
	told := make(chan string, 10)
	d := NewAsyncFetcher(w.fetcher(Options{}), AsyncFetcherOptions[string]{AtOnce: 3, PerHost: 2, Done: func(key string) { told <- key }})
	defer d.Close()
	for i := range 5 {
		source := w.source("https://stalls.test/" + fmt.Sprint(i))
		notReady(t, d, fmt.Sprint("stalls ", i), source, "1")
	}
	notReady(t, d, "works", w.source(stable), "1")
	select {
	case key := <-told:
		result := ready(t, d, key, w.source(stable), "1")
		got(t, result.Chart, result.Err, "1.0.0", s.archives["1.0.0"])
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	eventually(t, "two fetches stall", func() bool { return stalls.count("") == 2 })
	d.Close()
	noGoroutineIsLeft(t)
}
