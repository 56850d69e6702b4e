package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	// Page is the path of the file in the repository.
	Page string
	// Line is the number of its opening fence.
	Line int
	// Class is what stands behind the opening fence, as in "sh needs-registry".
	Class string
	// Text is what stands between the fences.
	Text string
}

// String tells where the block is.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Commands are the lines of a block of commands, without comments that have a line for themselves.
func (b Block) Commands() []string {
	var commands []string
	for line := range strings.Lines(b.Text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
	}
	return commands
}

// Program is what a command starts: its first word.
func Program(command string) string {
	first, _, _ := strings.Cut(command, " ")
	return first
}

// OfClass returns the blocks of a class, in the order of the pages. There is at least one, or an error.
func OfClass(root, class string) ([]Block, error) {
	all, err := Blocks(root)
	if err != nil {
		return nil, err
	}
	var found []Block
	for _, block := range all {
		if block.Class == class {
			found = append(found, block)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no page has a block of class %q", class)
	}
	return found, nil
}

// Blocks returns all blocks of all pages: those of README.md first, then those of the others in the order of their paths.
func Blocks(root string) ([]Block, error) {
	paths, err := Paths(root)
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, path := range paths {
		content, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		blocks, err := parse(path, string(content))
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	return all, nil
}

// Paths are those of the pages, in the repository whose directory is root.
func Paths(root string) ([]string, error) {
	paths := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	})
	return paths, err
}

const (
	fence = "```"
	// indent makes a block without a fence, which could have no class.
	indent = "    "
)

// parse finds the blocks of a page. Blocks that are made by indenting are an error, since they would escape the tests.
func parse(page, content string) ([]Block, error) {
	var blocks []Block
	var open *Block
	number, afterBlank := 0, true
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimRight(line, "\r\n")
		class, isFence := strings.CutPrefix(strings.TrimLeft(line, " "), fence)
		switch {
		case isFence && open == nil:
			open = &Block{Page: page, Line: number, Class: strings.TrimSpace(class)}
		case isFence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		case afterBlank && strings.HasPrefix(line, indent):
			return nil, fmt.Errorf("%s:%d: put fences around the block, with a class behind the first", page, number)
		}
		afterBlank = line == ""
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block has no end", open)
	}
	return blocks, nil
}
