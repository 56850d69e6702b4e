package ports

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

func TestClaimsNeverCollide(t *testing.T) {
	registry := Registry{Dir: t.TempDir()}
	owner := t.TempDir()
	const claims = 50
	claimed := make([]int, claims)
	var group sync.WaitGroup
	for i := range claimed {
		group.Go(func() {
			var err error
			if claimed[i], err = registry.Claim(t.Context(), owner); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[int]bool{}
	for _, port := range claimed {
		if seen[port] {
			t.Errorf("port %d was given to two", port)
		}
		seen[port] = true
	}
}

func TestAClaimLastsAsLongAsItsOwner(t *testing.T) {
	registry := Registry{Dir: t.TempDir()}
	owner := filepath.Join(t.TempDir(), "owner")
	if err := os.Mkdir(owner, 0o700); err != nil {
		t.Fatal(err)
	}
	port, err := registry.Claim(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Release(t.Context(), "/somebody/else", port); err != nil || !registry.claimed(port) {
		t.Errorf("port %d is free after somebody else released it (%v)", port, err)
	}
	if err := os.Remove(owner); err != nil {
		t.Fatal(err)
	}
	if registry.claimed(port) {
		t.Errorf("port %d is claimed by an owner that is gone", port)
	}
}

func TestCheckFreeNamesAPortThatIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	number, _ := strconv.Atoi(port)
	if err := CheckFree(number); err == nil {
		t.Errorf("port %s passes for free", port)
	}
}

func TestAPortThatIsGivenBackSoonIsAwaited(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	number := listener.Addr().(*net.TCPAddr).Port
	awaited := make(chan error, 1)
	go func() { awaited <- AwaitFree(t.Context(), number) }()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-awaited; err != nil {
		t.Error(err)
	}
}
