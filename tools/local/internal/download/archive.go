package download

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Bounds of what an archive unpacks to.
const (
	// maxMember is how large a program may be, in bytes.
	maxMember = maxFile
	// maxUnpacked is how much of an archive is unpacked in search of the program, in bytes.
	maxUnpacked = 1 << 30
)

// extract writes the member of a .tar.gz to target, executable. No other member is written anywhere, whatever its path.
func extract(archive io.Reader, member, target string) error {
	unpacked, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("it is no .tar.gz: %w", err)
	}
	members := tar.NewReader(io.LimitReader(unpacked, maxUnpacked))
	for {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("there is no %s in it", member)
		}
		if err != nil {
			return fmt.Errorf("unpack it: %w", err)
		}
		if header.Name != member {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			return fmt.Errorf("its %s is no regular file", member)
		}
		if header.Size > maxMember {
			return fmt.Errorf("its %s has %d bytes, more than the %d that are expected at most", member, header.Size, int64(maxMember))
		}
		return write(members, target)
	}
}

// write leaves no half of a program.
func write(from io.Reader, target string) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}
