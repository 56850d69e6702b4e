package component

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

// Part is something of a component: a program, in a version or in any if that is "", or else its files.
type Part struct{ Program, Version, Files string }

// Provide provides all parts that are missing, in their order. Its progress counts them, as in "[3/9]".
func (s Store) Provide(ctx context.Context, parts ...Part) error {
	missing, err := s.missing(ctx, parts)
	if err != nil {
		return err
	}
	return s.provideAll(ctx, missing)
}

func (s Store) provideAll(ctx context.Context, missing []*build) error {
	for i, b := range missing {
		b.count = fmt.Sprintf("[%d/%d] ", i+1, len(missing))
		if _, err := s.provideBuild(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the components of parts that the cache does not hold, each once.
func (s Store) missing(ctx context.Context, parts []Part) ([]*build, error) {
	source, err := s.Source()
	if err != nil {
		return nil, err
	}
	var missing []*build
	var known []string
	for _, part := range parts {
		if part.Version == "" && s.isPrebuilt(part.Program) {
			continue
		}
		c, err := s.componentOf(part)
		if err != nil {
			return nil, err
		}
		if slices.Contains(known, c.name) {
			continue
		}
		known = append(known, c.name)
		b, err := newBuild(ctx, c, filepath.Join(source, c.source), s.Progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		b.background = s.Background
		if _, ok := s.cached(b); !ok {
			missing = append(missing, b)
		}
	}
	return missing, nil
}

func (s Store) componentOf(part Part) (component, error) {
	if part.Version != "" {
		return s.componentAt(part.Program, part.Version)
	}
	for _, c := range catalog() {
		if _, ok := c.packages[part.Program]; ok || (part.Files != "" && c.name == part.Files) {
			return c, nil
		}
	}
	return component{}, fmt.Errorf("no component has %q", part.Program+part.Files)
}
