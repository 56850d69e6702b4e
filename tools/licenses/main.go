// Command licenses lists the modules that a program is built from, each with its license, and fails for a license that is not
// permitted. Licenses are told by their words, from the files of the modules: nothing is asked over the network.
//
//	go run -C tools ./licenses --module .. --list ../LICENSES
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	module := flag.String("module", "..", "directory of the module whose main program is looked at")
	list := flag.String("list", "", "file to write the list to")
	flag.Parse()
	if err := run(*module, *list); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(module, file string) error {
	used, err := modulesOf(module)
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("# The modules that the manager is built from, and their licenses. Written by make dependencies.\n")
	var problems []error
	for _, one := range used {
		license, err := licenseOf(one.dir)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", one.path, err))
			continue
		}
		fmt.Fprintf(&text, "%s %s\n", one.path, license)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o644) //nolint:gosec // Everybody may read it.
}

// module that a program is built from.
type module struct{ path, dir string }

// modulesOf are those of the packages that the main program in a directory imports, other than its own.
func modulesOf(dir string) ([]module, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", ".")
	list.Dir = dir
	var failure bytes.Buffer
	list.Stderr = &failure
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w: %s", err, failure.String())
	}
	var modules []module
	for line := range strings.Lines(string(output)) {
		path, dir, found := strings.Cut(strings.TrimSpace(line), "\t")
		if !found {
			continue
		}
		modules = append(modules, module{path, dir})
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return slices.Compact(modules), nil
}

// licenseOf reads the file of a module that holds its license.
func licenseOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		if license := Classify(string(content)); license != "" {
			return license, nil
		}
		return "", fmt.Errorf("the license in %s is none that is permitted: ask before this module is used", entry.Name())
	}
	return "", errors.New("it has no file with a license")
}
