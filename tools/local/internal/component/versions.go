package component

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// Versions returns the versions in which a program can be had, ascending, without
// building any. Prebuilt binaries are left out: what version they are, only
// they know.
func (s Store) Versions(name string) ([]string, error) {
	byVersion, err := s.versions(name)
	if err != nil {
		return nil, err
	}
	var versions []string
	for version := range byVersion {
		versions = append(versions, version)
	}
	slices.SortFunc(versions, semver.Compare)
	return versions, nil
}

// BinaryAt returns the path of a program in a version, such as "v1.36.3", or in
// any if version is "". An error for a version that cannot be had names those
// that can.
func (s Store) BinaryAt(ctx context.Context, name, version string) (string, error) {
	if version == "" {
		return s.Binary(ctx, name)
	}
	c, err := s.componentAt(name, version)
	if err != nil {
		return "", err
	}
	dir, err := s.provide(ctx, c)
	return filepath.Join(dir, name), err
}

func (s Store) componentAt(program, version string) (component, error) {
	byVersion, err := s.versions(program)
	if err != nil {
		return component{}, err
	}
	c, ok := byVersion[version]
	if !ok {
		known, err := s.Versions(program)
		if err != nil {
			return component{}, err
		}
		return component{}, fmt.Errorf("there is no %s %s; there are %s", program, version, strings.Join(known, ", "))
	}
	return c, nil
}

func (s Store) versions(name string) (map[string]component, error) {
	source, err := s.Source()
	if err != nil {
		return nil, err
	}
	byVersion := map[string]component{}
	for _, c := range catalog() {
		if _, ok := c.packages[name]; !ok {
			continue
		}
		dir := filepath.Join(source, c.source)
		goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		version, _, err := c.versionIn(dir, goMod)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		byVersion[version] = c
	}
	return byVersion, nil
}
