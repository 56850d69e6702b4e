package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// evidenceCommand is the argument with which the program checks the evidence of drills instead.
const evidenceCommand = "evidence"

// maxEvidence is how large a file with evidence may be, in bytes.
const maxEvidence = 4 << 20

// signatureSuffix is what the name of a file with a signature has beside that of the document.
const signatureSuffix = ".sig"

// verifyEvidence is the command evidence: verify --head HASH [--key FILE] FILE…
func verifyEvidence(arguments []string, out io.Writer) error {
	usage := errors.New("usage: daytwo evidence verify --head HASH [--key PUBLIC-KEY] FILE…; the hash is in status.evidence.head of the BackupEnrollment")
	if len(arguments) == 0 || arguments[0] != "verify" {
		return usage
	}
	set := flag.NewFlagSet("daytwo evidence verify", flag.ContinueOnError)
	head := set.String("head", "", "hash of the newest document, from status.evidence.head of the BackupEnrollment")
	key := set.String("key", "", "file with the public key that the documents are signed for; the signature of FILE is in FILE.sig")
	if err := set.Parse(arguments[1:]); err != nil {
		return err
	}
	if *head == "" || set.NArg() == 0 {
		return usage
	}
	var files []evidence.File
	for _, name := range set.Args() {
		content, err := readEvidence(name)
		if err != nil {
			return err
		}
		files = append(files, evidence.File{Name: name, Content: content})
	}
	chain, err := evidence.Verify(*head, files)
	if err != nil {
		return err
	}
	if *key != "" {
		if err := verifySignatures(*key, files); err != nil {
			return err
		}
	}
	return printChain(out, chain)
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
			link.Drill.Namespace, link.Drill.Name, link.Backup.Name, link.Verdict, link.DataAge, link.RecoveryTime, link.Hash)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "the chain of %d documents is whole\n", len(chain))
	return err
}
