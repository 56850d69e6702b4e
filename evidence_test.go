package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

// evidenceOf two drills, in files of a directory.
func evidenceOf(t *testing.T) (head string, files []string) {
	t.Helper()
	dir := t.TempDir()
	for i, name := range []string{"first", "second"} {
		content, err := evidence.Document{
			Previous: head, Verdict: "Passed",
			Drill: evidence.Drill{Namespace: "customer-acme", Name: name, StartedAt: time.Unix(int64(i), 0).UTC()},
		}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		head, files = evidence.Hash(content), append(files, file)
	}
	return head, files
}

// call the command with a hash and files behind other arguments.
func call(head string, files []string, arguments ...string) (string, error) {
	var out bytes.Buffer
	err := runEvidence(slices.Concat(arguments, []string{"--head", head}, files), &out)
	return out.String(), err
}

func TestAChainIsVerified(t *testing.T) {
	head, files := evidenceOf(t)
	out, err := call(head, files, "verify")
	if err != nil || !strings.Contains(out, "customer-acme/second") || !strings.Contains(out, "the chain of 2 documents is whole") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestAReportGoesToAFileOrToTheOutput(t *testing.T) {
	head, files := evidenceOf(t)
	printed, err := call(head, files, "report")
	if err != nil || !strings.HasPrefix(printed, "<!doctype html>") || !strings.Contains(printed, "customer-acme/second") {
		t.Errorf("got %q, %v", printed, err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	for range 2 { // A report replaces the one before it.
		out, err := call(head, files, "report", "--out", file)
		if err != nil || out != "the chain of 2 documents is whole: see "+file+"\n" {
			t.Errorf("got %q, %v", out, err)
		}
	}
	if written, err := os.ReadFile(file); err != nil || string(written) != printed {
		t.Errorf("got %q, %v", written, err)
	}
}

func TestAChainThatDoesNotHoldMakesNoReport(t *testing.T) {
	head, files := evidenceOf(t)
	file := filepath.Join(t.TempDir(), "report.html")
	for name, broken := range map[string][]string{"a document is missing": files[1:], "the newest is missing": files[:1], "a document is there twice": append(files, files[0])} {
		out, err := call(head, broken, "report", "--out", file)
		if err == nil || out != "" {
			t.Errorf("%s: got %q, %v", name, out, err)
		}
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			t.Errorf("%s: a report was written: %v", name, err)
		}
	}
}

func TestAReportReplacesNoDocument(t *testing.T) {
	head, files := evidenceOf(t)
	before, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(head, files, "report", "--out", files[0]); err == nil || !strings.Contains(err.Error(), "is a document of the chain") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the document is %q, %v", after, err)
	}
}

func TestTheEvidenceCommandSaysHowItIsUsed(t *testing.T) {
	head, files := evidenceOf(t)
	for name, arguments := range map[string][]string{
		"nothing": nil, "another word": {"prove", "--head", head, files[0]}, "no files": {"report", "--head", head}, "no hash": append([]string{"report"}, files...),
	} {
		if err := runEvidence(arguments, &bytes.Buffer{}); err == nil || !strings.HasPrefix(err.Error(), "usage: ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnEvidenceFileThatIsTooLargeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(file, make([]byte, maxEvidence+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := call("5d", []string{file}, "report"); err == nil || !strings.Contains(err.Error(), "has more than") {
		t.Errorf("got %v", err)
	}
}
