package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"

	"github.com/daytwo-dev/daytwo/internal/evidence"
)

//go:embed page.html timeline.html page.css
var files embed.FS

// Render writes the report of a chain as evidence.Verify returns it, the oldest document first. The newest drill is shown in
// full. An error is one of the writer, or tells of a chain without documents; nothing is written if the report cannot be made.
func Render(w io.Writer, chain []evidence.Link) error {
	if len(chain) == 0 {
		return errors.New("the chain has no documents to report")
	}
	layout, err := template.ParseFS(files, "*")
	if err != nil {
		return fmt.Errorf("parse the layout of the report: %w", err)
	}
	var content bytes.Buffer
	if err := layout.ExecuteTemplate(&content, "page.html", pageOf(chain)); err != nil {
		return fmt.Errorf("render the report: %w", err)
	}
	_, err = content.WriteTo(w)
	return err
}
