package process

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const recordSuffix = ".json"

// Record is what is kept on disk about a program.
type Record struct {
	PID int `json:"pid"`
	// Birth tells this process from any other that had or will have its id.
	Birth   string `json:"birth"`
	Command string `json:"command"`
	Log     string `json:"log"`
	// LogStart is how long the log was before, in bytes: it holds what all
	// programs of that name said.
	LogStart int64     `json:"logStart"`
	Started  time.Time `json:"started"`
}

func readRecord(path string) (Record, error) {
	var record Record
	content, err := os.ReadFile(path)
	if err != nil {
		return record, err
	}
	return record, json.Unmarshal(content, &record)
}

// writeRecord replaces the file as a whole, so that a reader never sees half.
func writeRecord(path string, record Record) error {
	content, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func recordNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), recordSuffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
