package charts

import "slices"

// resultCache counts the bytes of archives in results that are kept, and says which results have to go.
type resultCache[K comparable] struct {
	limit int64
	bytes int64
	kept  []kept[K] // the oldest first
	// uses of an archive, by its first byte: the cache and shared fetches give many results the same.
	uses map[*byte]int
}

type kept[K comparable] struct {
	key     K
	archive []byte
}

// add keeps a result and returns the keys of those dropped for it; it is never dropped itself.
// Results without an archive cost nothing.
func (s *resultCache[K]) add(key K, result Result) []K {
	if result.Chart == nil || len(result.Chart.Archive) == 0 {
		return nil
	}
	added := kept[K]{key: key, archive: result.Chart.Archive}
	s.kept = append(s.kept, added)
	if s.uses[&added.archive[0]]++; s.uses[&added.archive[0]] == 1 {
		s.bytes += int64(len(added.archive))
	}
	var dropped []K
	for s.bytes > s.limit && len(s.kept) > 1 {
		dropped = append(dropped, s.kept[0].key)
		s.removeAt(0)
	}
	return dropped
}

func (s *resultCache[K]) remove(key K) {
	if at := slices.IndexFunc(s.kept, func(k kept[K]) bool { return k.key == key }); at >= 0 {
		s.removeAt(at)
	}
}

func (s *resultCache[K]) removeAt(at int) {
	archive := s.kept[at].archive
	s.kept = slices.Delete(s.kept, at, at+1)
	s.uses[&archive[0]]--
	if s.uses[&archive[0]] == 0 {
		delete(s.uses, &archive[0])
		s.bytes -= int64(len(archive))
	}
}
