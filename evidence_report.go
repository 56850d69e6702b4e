package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/daytwo-dev/daytwo/internal/evidence/report"
)

// reportMode of the file with a report: it is made to be passed on, and holds no secret.
const reportMode = 0o644

// reportEvidence writes a report of a chain that holds to the file --out, or to out without one. A chain that does not hold
// makes no report.
func reportEvidence(arguments []string, out io.Writer) error {
	set := flag.NewFlagSet("daytwo evidence report", flag.ContinueOnError)
	name := set.String("out", "", "file to write the report to; it goes to the standard output by default")
	chain, err := parseChain(set, arguments)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := report.Render(&content, chain); err != nil {
		return err
	}
	if *name == "" {
		_, err := content.WriteTo(out)
		return err
	}
	if err := writeReport(*name, content.Bytes(), set.Args()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "the chain of %d documents is whole: see %s\n", len(chain), *name)
	return err
}

// writeReport replaces the file of that name, unless it is one of the documents.
func writeReport(name string, content []byte, documents []string) error {
	there, err := os.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, document := range documents {
		info, err := os.Stat(document)
		if err != nil {
			return err
		}
		if os.SameFile(there, info) {
			return fmt.Errorf("--out=%s is a document of the chain: name another file", name)
		}
	}
	return os.WriteFile(name, content, reportMode) //nolint:gosec // The person who calls the command names it.
}
