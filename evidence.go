package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// maxEvidence is how large a file with evidence may be, in bytes.
const maxEvidence = 4 << 20

// signatureSuffix is what the name of a file with a signature has beside that of the document.
const signatureSuffix = ".sig"

// errEvidenceUsage says how the command is called.
var errEvidenceUsage = errors.New(`usage: daytwo evidence verify --head HASH [--key public.pem] FILE…
       daytwo evidence report --head HASH [--key public.pem] [--out report.html] FILE…
the hash is in status.evidence.head of the BackupEnrollment`)

// runEvidence is the command evidence. It writes to out what it found.
func runEvidence(arguments []string, out io.Writer) error {
	if len(arguments) == 0 {
		return errEvidenceUsage
	}
	switch arguments[0] {
	case "verify":
		return verifyEvidence(arguments[1:], out)
	case "report":
		return reportEvidence(arguments[1:], out)
	}
	return errEvidenceUsage
}

func verifyEvidence(arguments []string, out io.Writer) error {
	chain, err := parseChain(flag.NewFlagSet("daytwo evidence verify", flag.ContinueOnError), arguments)
	if err != nil {
		return err
	}
	return printChain(out, chain)
}

// parseChain reads the files that the arguments name, and returns the chain if it holds. The set gets the flags --head and --key
// beside those that it has.
func parseChain(set *flag.FlagSet, arguments []string) ([]evidence.Link, error) {
	head := set.String("head", "", "hash of the newest document, from status.evidence.head of the BackupEnrollment")
	key := set.String("key", "", "file with the public key that the documents are signed for; the signature of FILE is in FILE.sig")
	if err := set.Parse(arguments); err != nil {
		return nil, err
	}
	if *head == "" || set.NArg() == 0 {
		return nil, errEvidenceUsage
	}
	var files []evidence.File
	for _, name := range set.Args() {
		content, err := readEvidence(name)
		if err != nil {
			return nil, err
		}
		files = append(files, evidence.File{Name: name, Content: content})
	}
	chain, err := evidence.Verify(*head, files)
	if err != nil || *key == "" {
		return chain, err
	}
	return chain, verifySignatures(*key, files)
}

// verifySignatures checks the signature of each file, which lies beside it.
func verifySignatures(keyFile string, files []evidence.File) error {
	content, err := readEvidence(keyFile)
	if err != nil {
		return err
	}
	key, err := evidence.ParsePublicKey(content)
	if err != nil {
		return fmt.Errorf("%s: %w", keyFile, err)
	}
	for _, file := range files {
		signature, err := readEvidence(file.Name + signatureSuffix)
		if err != nil {
			return err
		}
		if err := key.VerifySignature(file, signature); err != nil {
			return err
		}
	}
	return nil
}

func readEvidence(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // The person who calls the command names it.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	content, err := io.ReadAll(io.LimitReader(file, maxEvidence+1))
	if err == nil && len(content) > maxEvidence {
		err = fmt.Errorf("%s has more than %d bytes", name, maxEvidence)
	}
	return content, err
}

func printChain(out io.Writer, chain []evidence.Link) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "STARTED\tDRILL\tBACKUP\tVERDICT\tRPO\tRTO\tHASH")
	for _, link := range chain {
		_, _ = fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%.12s\n", link.Drill.StartedAt.UTC().Format(time.RFC3339),
			printable(link.Drill.Namespace), printable(link.Drill.Name), printable(link.Backup.Name), printable(link.Verdict),
			printable(link.DataAge), printable(link.RecoveryTime), link.Hash)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "the chain of %d documents is whole\n", len(chain))
	return err
}

// printable is a text of a document without what a terminal would obey.
func printable(text string) string {
	return strings.Map(func(char rune) rune {
		if !unicode.IsPrint(char) {
			return unicode.ReplacementChar
		}
		return char
	}, text)
}
