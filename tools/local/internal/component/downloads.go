package component

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/daytwo-dev/daytwo/tools/local/internal/download"
)

const (
	// answerWithin is how long a host may take until it begins to answer: a machine without internet loses no more.
	answerWithin = 5 * time.Second
	// stallAfter is how long a host that answers may send nothing.
	stallAfter = 20 * time.Second
	// wholeWithin is how long the download of one file may take: what takes longer is built as quickly.
	wholeWithin = 5 * time.Minute
	// pinsFile lies beside the component modules.
	pinsFile = "checksums.txt"
)

// NewDownloads returns what fetches official programs, with the checksums that are pinned in sourceDir, the directory of
// the component modules.
func NewDownloads(sourceDir string) (*download.Fetcher, error) {
	path := filepath.Join(sourceDir, pinsFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	pins, err := download.ParsePins(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &download.Fetcher{Answer: answerWithin, Stall: stallAfter, Whole: wholeWithin, Pins: pins}, nil
}
