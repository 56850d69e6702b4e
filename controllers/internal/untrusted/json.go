package untrusted

// JSONSize follows JSON as its bytes come, and counts the values in it: what they take once they are decoded
// is told by their number rather than by their bytes, as three bytes such as "{}," become a hundred and more.
// It checks no syntax, which is the decoder's part. The zero value is ready to use.
type JSONSize struct {
	// Values so far, more or less.
	Values int

	depth             int
	inString, escaped bool
}

// Scan takes the next bytes, up to and including the end of the outermost value. It returns how many of them it
// took, and whether the outermost value ended.
func (s *JSONSize) Scan(data []byte) (taken int, ended bool) {
	for i, b := range data {
		if s.inString {
			if s.scanString(b); !s.inString && s.depth <= 0 {
				return i + 1, true
			}
			continue
		}
		switch b {
		case '"':
			s.inString = true
		case ',':
			s.Values++
		case '{', '[':
			s.Values++
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(data), false
}

// ScanAll takes the next bytes, whatever ends in them.
func (s *JSONSize) ScanAll(data []byte) {
	for len(data) > 0 {
		taken, _ := s.Scan(data)
		data = data[taken:]
	}
}

func (s *JSONSize) scanString(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = false
	}
}
