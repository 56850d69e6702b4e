package report

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func parse(t *testing.T, content string) *html.Node {
	t.Helper()
	page, err := html.Parse(strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// outline is what a page says, a line for each heading, paragraph, row, item and pair of name and value.
func outline(page *html.Node) (lines []string) {
	prefixes := map[string]string{"title": "title: ", "h1": "# ", "h2": "## ", "h3": "### ", "li": "- ", "p": "", "pre": "$ "}
	for node := range page.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if prefix, is := prefixes[node.Data]; is {
			lines = append(lines, prefix+textOf(node))
		}
		if node.Data == "tr" || node.Data == "div" && node.FirstChild != nil && node.FirstChild.Data == "dt" {
			lines = append(lines, strings.Join(cells(node), " | "))
		}
	}
	return lines
}

func cells(row *html.Node) (texts []string) {
	for cell := range row.ChildNodes() {
		if cell.Type == html.ElementNode {
			texts = append(texts, textOf(cell))
		}
	}
	return texts
}

// textOf a node, as a screen reader says it.
func textOf(node *html.Node) string {
	var words []string
	var read func(*html.Node)
	read = func(node *html.Node) {
		if node.Type == html.TextNode {
			words = append(words, strings.Fields(node.Data)...)
		}
		if attribute(node, "aria-hidden") == "true" {
			return
		}
		if label := attribute(node, "aria-label"); label != "" {
			words = append(words, label)
			return
		}
		for child := range node.ChildNodes() {
			read(child)
		}
	}
	read(node)
	return strings.Join(words, " ")
}

func attribute(node *html.Node, key string) string {
	for _, one := range node.Attr {
		if one.Key == key {
			return one.Val
		}
	}
	return ""
}

// byID is the element with an id in the page of a node.
func byID(node *html.Node, id string) *html.Node {
	root := node
	for root.Parent != nil {
		root = root.Parent
	}
	for one := range root.Descendants() {
		if attribute(one, "id") == id {
			return one
		}
	}
	return nil
}

// elements of a name in a page.
func elements(page *html.Node, name string) (found []*html.Node) {
	for node := range page.Descendants() {
		if node.Type == html.ElementNode && node.Data == name {
			found = append(found, node)
		}
	}
	return slices.Clip(found)
}
