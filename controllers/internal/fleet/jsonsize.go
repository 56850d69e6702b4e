package fleet

// jsonSize follows JSON as its bytes come, and counts the values in it: what they take once they are decoded
// is told by their number rather than by their bytes, as three bytes such as "{}," become a hundred and more.
// It checks no syntax, which is the decoder's part.
type jsonSize struct {
	values            int
	depth             int
	inString, escaped bool
}

// scan takes the next bytes, up to and including the end of the outermost value. It returns how many of them it
// took, and whether the outermost value ended.
func (s *jsonSize) scan(data []byte) (taken int, ended bool) {
	for i, b := range data {
		if s.inString {
			s.scanString(b)
			continue
		}
		switch b {
		case '"':
			s.inString = true
		case ',':
			s.values++
		case '{', '[':
			s.values++
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(data), false
}

func (s *jsonSize) scanString(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = false
	}
}
