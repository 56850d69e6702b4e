package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func allBlocks(t *testing.T) []Block {
	t.Helper()
	blocks, err := Blocks(root)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestEveryBlockIsOfAKnownClassAndEveryClassHasABlock(t *testing.T) {
	unused := map[string]bool{Commands: true, CommandsOfClusterAPI: true, Manifests: true}
	for class := range notRun {
		unused[class] = true
	}
	for _, block := range allBlocks(t) {
		if !Known(block.Class) {
			t.Errorf("%s: there is no class %q: name one of class.go behind the fence, or add one with its reason there", block, block.Class)
		}
		if block.Text == "" {
			t.Errorf("%s is empty", block)
		}
		delete(unused, block.Class)
	}
	for class := range unused {
		t.Errorf("no page has a block of class %q: remove the class, or what looks for its blocks fails", class)
	}
}

// The targets are not made, since that takes minutes; make tells what it would do, and knows each of them.
func TestMakeTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	assigned := regexp.MustCompile(`\b([A-Z]+)=`)
	tried := 0
	for _, block := range allBlocks(t) {
		if !strings.HasPrefix(block.Class, "sh") {
			continue
		}
		for _, command := range block.Commands() {
			if Program(command) != "make" {
				continue
			}
			tried++
			if err := tryMake(command); err != nil {
				t.Errorf("%s: %v", block, err)
			}
			for _, variable := range assigned.FindAllStringSubmatch(command, -1) {
				if !strings.Contains(makefile, "$("+variable[1]+")") {
					t.Errorf("%s: the Makefile has no variable %s", block, variable[1])
				}
			}
		}
	}
	if tried == 0 {
		t.Error("no block has a command with make")
	}
	if tryMake("make what-is-not-there") == nil {
		t.Error("a target that the Makefile does not have is not noticed")
	}
}

func tryMake(command string) error {
	_, err := dryMake(root, command)
	return err
}

// dryMake returns the commands that make would run in a directory.
func dryMake(dir, command string) (string, error) {
	shell := exec.Command("bash", "-c", strings.Replace(command, "make", "make --dry-run", 1))
	shell.Dir = dir
	// A make that runs this test would pass on its own flags.
	shell.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	output, err := shell.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return string(output), nil
}

// make takes the space in a path for the end of it, and so does a shell that gets it without quotes.
func TestMakeWorksInACheckoutWhosePathHasASpace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", "tools"} {
		if err := os.Symlink(filepath.Join(repository, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	targets := makeTargets.FindAllStringSubmatch(read(t, "Makefile"), -1)
	if len(targets) < 10 {
		t.Fatalf("the Makefile has the targets %v alone", targets)
	}
	for _, target := range targets {
		commands, err := dryMake(dir, "make "+target[1])
		if err != nil {
			t.Errorf("in %s: %v", dir, err)
		}
		if strings.Contains(commands, "with space") {
			t.Errorf("in %s, make %s passes the path on, which is to be relative, or $PWD in quotes:\n%s", dir, target[1], commands)
		}
	}
}

// makeTargets are those that make help lists.
var makeTargets = regexp.MustCompile(`(?m)^([a-z-]+):.*##`)

// What is neither tried by make nor run against a fleet would be in a block that looks as if it were.
func TestBlocksThatAreRunStartProgramsThatMayRun(t *testing.T) {
	for _, block := range allBlocks(t) {
		programs := fleetPrograms
		switch {
		case block.Class != Commands && block.Class != CommandsOfClusterAPI:
			continue
		case block.UsesMake():
			programs = []string{"make"}
		}
		if err := block.starts(programs...); err != nil {
			t.Error(err)
		}
	}
	mixed := Block{Text: "kubectl get pods\nmake test\n"}
	if mixed.starts(fleetPrograms...) == nil || mixed.starts("make") == nil {
		t.Error("a block may start make and kubectl, of which one would not be run")
	}
}

func TestTheReadmeIsShort(t *testing.T) {
	if lines := strings.Count(read(t, "README.md"), "\n"); lines >= 200 {
		t.Errorf("README.md has %d lines; a newcomer reads up to 200: move the rest to docs", lines)
	}
}

func TestBlocksAreFoundWithTheirClasses(t *testing.T) {
	const page = "text\n```sh needs-registry\none # two\n\n# three\n  four\n```\n- item\n  ```yaml\n  a: 1\n  ```\n"
	blocks, err := parse("page.md", page)
	if err != nil || len(blocks) != 2 {
		t.Fatalf("got %v, %v", blocks, err)
	}
	if first := blocks[0]; first.String() != "page.md:2" || first.Class != "sh needs-registry" || strings.Join(first.Commands(), "|") != "one # two|four" {
		t.Errorf("got %+v with the commands %q", first, first.Commands())
	}
	if second := blocks[1]; second.String() != "page.md:9" || second.Class != "yaml" || second.Text != "  a: 1\n" {
		t.Errorf("got %+v", second)
	}
	for name, page := range map[string]string{"without an end": "```sh\nmake\n", "without fences": "Run this:\n\n    make\n"} {
		if blocks, err := parse("page.md", page); err == nil {
			t.Errorf("a block %s is taken as %+v", name, blocks)
		}
	}
}
