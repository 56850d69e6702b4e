package localfleet

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/daytwo-dev/daytwo/tools/local/internal/ports"
	"github.com/daytwo-dev/daytwo/tools/local/internal/process"
)

// program is something to start: a binary of a component, or a path.
type program struct {
	name   string
	binary string
	// version of the binary, or "" for any.
	version string
	args    []string
	env     []string
	// ports are those that it is going to listen on.
	ports []int
}

// ensure returns the program if it runs already, and starts it otherwise.
func (f *Fleet) ensure(ctx context.Context, p program) (*process.Process, error) {
	if running, ok := f.processes.Lookup(p.name); ok {
		return running, nil
	}
	return f.start(ctx, p)
}

// start runs a program after making sure that its ports are free.
func (f *Fleet) start(ctx context.Context, p program) (*process.Process, error) {
	for _, port := range p.ports {
		if err := ports.AwaitFree(ctx, port); err != nil {
			return nil, fmt.Errorf("start %s: %w; end that program, or run down and up for other ports", p.name, err)
		}
	}
	path := p.binary
	if !filepath.IsAbs(path) {
		var err error
		if path, err = f.components.BinaryAt(ctx, p.binary, p.version); err != nil {
			return nil, err
		}
	}
	return f.processes.Start(process.Spec{
		Name: p.name, Path: path, Args: p.args, Env: p.env, Log: f.paths.log(p.name),
	})
}
