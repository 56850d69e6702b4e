package pages

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pathInText is a path between backticks: with a slash, or of a file of Go.
var pathInText = regexp.MustCompile("`([\\w./{},-]*/[\\w./{},-]*|[\\w{},-]+\\.go)`")

func TestThePathsThatContributingNamesAreThere(t *testing.T) {
	paths := pathsOfTheRepository(t)
	named := 0
	for _, match := range pathInText.FindAllStringSubmatch(blocksOfAPage.ReplaceAllString(read(t, "CONTRIBUTING.md"), ""), -1) {
		for _, one := range alternatives(match[1]) {
			named++
			one = strings.TrimSuffix(one, "/")
			if !slices.ContainsFunc(paths, func(path string) bool { return path == one || strings.HasSuffix(path, "/"+one) }) {
				t.Errorf("there is no %s", one)
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d paths were found", named)
	}
}

// alternatives are the paths that one with braces stands for, as in a/{b,c}.
func alternatives(path string) (all []string) {
	before, rest, has := strings.Cut(path, "{")
	if !has {
		return []string{path}
	}
	choices, after, _ := strings.Cut(rest, "}")
	for _, choice := range strings.Split(choices, ",") {
		all = append(all, alternatives(before+choice+after)...)
	}
	return all
}

func pathsOfTheRepository(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", ".daytwo"}, entry.Name()) {
			return fs.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, filepath.ToSlash(relative))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
