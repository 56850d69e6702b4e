package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// LastLines returns the end of what the program has logged since it was started,
// and nothing of what earlier ones of its name did.
func (p *Process) LastLines(count int) (string, error) {
	log, err := os.Open(p.log)
	if err != nil {
		return "", err
	}
	defer log.Close()
	if _, err := log.Seek(p.record.LogStart, io.SeekStart); err != nil {
		return "", err
	}
	content, err := io.ReadAll(log)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n"), nil
}

// openLog opens a log to append to, and returns its length.
func openLog(path string) (*os.File, int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, 0, err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := log.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, info.Size(), nil
}
