package main

import (
	"context"
	"io"
	"strings"
	"sync"
)

// background is work that goes on beside the acts, quietly until somebody waits for it.
type background struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error

	mu   sync.Mutex
	told io.Writer
}

// inBackground starts work, which writes its progress to the writer that it gets.
func inBackground(ctx context.Context, work func(context.Context, io.Writer) error) *background {
	ctx, cancel := context.WithCancel(ctx)
	b := &background{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		b.err = work(ctx, b)
	}()
	return b
}

// Write passes progress on to whoever waits.
func (b *background) Write(progress []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told == nil {
		return len(progress), nil
	}
	return b.told.Write(progress)
}

// hasEnded tells whether nothing is to be waited for.
func (b *background) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// wait returns how the work ended, and tells its progress meanwhile.
func (b *background) wait(ctx context.Context, progress io.Writer) error {
	b.mu.Lock()
	b.told = progress
	b.mu.Unlock()
	select {
	case <-b.ended:
		return b.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end stops the work, and returns when it has stopped.
func (b *background) end() {
	b.cancel()
	<-b.ended
}

// components tells a screen what is downloaded and built: on a terminal in the living line, elsewhere in a line for each
// change.
type components struct{ screen *screen }

// Write takes a line that ends with a newline for a change. A terminal alone shows others, whose place the next line takes.
func (c components) Write(progress []byte) (int, error) {
	if c.screen.terminal != nil {
		return c.screen.Write(progress)
	}
	if line, change := strings.CutSuffix(string(progress), "\n"); change {
		c.screen.Note(line)
	}
	return len(progress), nil
}
