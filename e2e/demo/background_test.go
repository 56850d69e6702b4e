package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestWorkInTheBackgroundIsQuietUntilSomebodyWaits(t *testing.T) {
	told, goOn := make(chan struct{}), make(chan struct{})
	failure := errors.New("no disk space")
	b := inBackground(t.Context(), func(_ context.Context, progress io.Writer) error {
		_, _ = io.WriteString(progress, "quiet\n")
		close(told)
		<-goOn
		_, _ = io.WriteString(progress, "loud\n")
		return failure
	})
	<-told
	if b.hasEnded() {
		t.Error("the work has ended before it did")
	}
	var out bytes.Buffer
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.wait(ended, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting when nobody waits any more: %v", err)
	}
	close(goOn)
	if err := b.wait(t.Context(), &out); !errors.Is(err, failure) || !b.hasEnded() {
		t.Errorf("the work ended with %v, want %v", err, failure)
	}
	if out.String() != "loud\n" {
		t.Errorf("told %q", out.String())
	}
}

func TestWorkInTheBackgroundEndsWithTheStory(t *testing.T) {
	b := inBackground(t.Context(), func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		return ctx.Err()
	})
	b.end()
	if !errors.Is(b.err, context.Canceled) {
		t.Errorf("the work ended with %v", b.err)
	}
}

func TestWithoutATerminalThereIsALineForEachChange(t *testing.T) {
	var out bytes.Buffer
	plain := components{&screen{out: &out, last: time.Now()}}
	for _, progress := range []string{"[1/2] etcd v3: building\n", "[1/2] etcd v3: building, 1s\r", "[1/2] etcd v3: built in 2s\n"} {
		if n, err := io.WriteString(plain, progress); n != len(progress) || err != nil {
			t.Errorf("Write() = %d, %v", n, err)
		}
	}
	if want := "    [1/2] etcd v3: building\n    [1/2] etcd v3: built in 2s\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	terminal := components{&screen{out: &out, terminal: os.Stdout}}
	_, _ = io.WriteString(terminal, "[2/2] kwok v1: building, 1s\r")
	if terminal.screen.detail != "[2/2] kwok v1: building, 1s" || strings.Contains(out.String(), "kwok") {
		t.Errorf("the living line has %q", terminal.screen.detail)
	}
}
