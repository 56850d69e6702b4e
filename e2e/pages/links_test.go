package pages

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	blocksOfAPage = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link          = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchors  = regexp.MustCompile(`[^\w\- ]`)
)

// anchors are what GitHub makes of a page's headings.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(blocksOfAPage.ReplaceAllString(page, ""), -1) {
		words := notInAnchors.ReplaceAllString(strings.ToLower(match[1]), "")
		found[strings.ReplaceAll(words, " ", "-")] = true
	}
	return found
}

func TestEveryLinkLeadsToAFileAndToAHeading(t *testing.T) {
	pages, err := Paths(root)
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for _, page := range append(pages, "CHANGELOG.md") {
		for _, match := range link.FindAllStringSubmatch(blocksOfAPage.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			followed++
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: %s leads nowhere", page, match[0])
				continue
			}
			if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s: %s has no heading #%s", page, match[0], target, anchor)
			}
		}
	}
	if followed == 0 {
		t.Error("no page has a link")
	}
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	readme := read(t, "README.md")
	pages, err := Paths(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages[1:] {
		if !strings.Contains(readme, "]("+page+")") {
			t.Errorf("README.md does not lead to %s", page)
		}
	}
}
