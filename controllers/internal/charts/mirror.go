package charts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// archiveSuffix ends the names of packed charts, as helm package and helm pull write them: <name>-<version>.tgz.
const archiveSuffix = ".tgz"

// Mirrors are directories of packed charts by the repositories that they stand in for. The operator of the manager
// configures them, so nothing that a Source says becomes a path: files are chosen from those that a directory lists.
type Mirrors map[string]string

// ParseMirrors reads "<repository>=<directory>", one text a mirror. It fails if a text has another form, or if its
// directory cannot be listed.
func ParseMirrors(texts []string) (Mirrors, error) {
	mirrors := Mirrors{}
	for _, text := range texts {
		repository, directory, found := strings.Cut(text, "=")
		if !found || directory == "" {
			return nil, fmt.Errorf("the chart mirror %q has another form than <repository>=<directory>", text)
		}
		asked, err := check(Source{Repository: repository, Name: "any", Version: "*"})
		if err != nil {
			return nil, fmt.Errorf("the chart mirror %q: %w", text, err)
		}
		if _, err := os.ReadDir(directory); err != nil {
			return nil, fmt.Errorf("the chart mirror of %s: %w", repository, err)
		}
		mirrors[asked.location()] = directory
	}
	return mirrors, nil
}

// fromMirror takes the chart from the directory that stands in for its repository, which is not asked. Neither the
// credentials nor the CA of the Source are used.
func (s *fetch) fromMirror(ctx context.Context, directory string) (*Chart, error) {
	files, err := os.ReadDir(directory)
	if err != nil {
		return nil, unreadable(err)
	}
	choice := &selection[string]{wanted: s.wanted, parse: parseStrictly}
	for _, file := range files {
		version, ours := strings.CutPrefix(strings.TrimSuffix(file.Name(), archiveSuffix), s.Name+"-")
		if ours && strings.HasSuffix(file.Name(), archiveSuffix) {
			choice.offer(version, file.Name())
		}
	}
	if choice.version == nil {
		return nil, s.missing(choice.available() + " (in the manager's mirror, --chart-mirrors; the repository itself is not asked)")
	}
	return s.chart(ctx, found{
		version:  choice.text,
		download: func(context.Context) ([]byte, error) { return s.readArchive(filepath.Join(directory, choice.choice)) },
	})
}

func (s *fetch) readArchive(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = file.Close() }()
	archive, err := io.ReadAll(capped(file, s.fetcher.options.MaxArchive))
	if errors.Is(err, errTooLong) {
		return nil, s.tooLarge()
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return archive, nil
}

// unreadable leaves the path out, which is no customer's business.
func unreadable(err error) error {
	var failure *fs.PathError
	if errors.As(err, &failure) {
		err = failure.Err
	}
	return fmt.Errorf("the mirror that the manager has of this repository cannot be read: %w", err)
}
