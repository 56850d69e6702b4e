package orphans

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxEntries and maxBytes keep the ledger below the 1 MiB that a ConfigMap may have.
	maxEntries = 200
	maxBytes   = 700 << 10
	// shortList is how many objects an old entry keeps when there is no room for all.
	shortList = 20
	// droppedKey counts entries that had to go.
	droppedKey = "dropped"
)

// Content of a ledger.
type Content struct {
	// Entries, the oldest first.
	Entries []Entry
	// Dropped entries had to make room for newer ones.
	Dropped int
	// Unreadable are the keys below which stands what is no entry. It is left alone.
	Unreadable []string
}

// IsEmpty is whether there is nothing that a person should see to.
func (c Content) IsEmpty() bool {
	return len(c.Entries) == 0 && c.Dropped == 0 && len(c.Unreadable) == 0
}

// read makes sense of a ledger, as far as there is any.
func read(ledger map[string]string) Content {
	var content Content
	for key, text := range ledger {
		if key == droppedKey {
			content.Dropped = count(text)
			continue
		}
		entry, err := decode(key, text)
		if err != nil {
			content.Unreadable = append(content.Unreadable, key)
			continue
		}
		content.Entries = append(content.Entries, entry)
	}
	slices.SortFunc(content.Entries, byAge)
	slices.Sort(content.Unreadable)
	return content
}

// count is 0 where somebody wrote something else.
func count(text string) int {
	number, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return max(number, 0)
}

// add returns the ledger with an entry more, within bounds.
func add(ledger map[string]string, entry Entry) (map[string]string, error) {
	key := entry.Key()
	entry = entry.tidy()
	if before, err := decode(key, ledger[key]); err == nil {
		entry = entry.joined(before)
	}
	text, err := encode(entry)
	if err != nil {
		return nil, err
	}
	grown := maps.Clone(ledger)
	if grown == nil {
		grown = map[string]string{}
	}
	grown[key] = text
	return fit(grown)
}

// revised returns the ledger with its entries changed. One that stands for nothing any more goes.
func revised(ledger map[string]string, revise func(Entry) Entry) (map[string]string, error) {
	changed := maps.Clone(ledger)
	for _, entry := range read(ledger).Entries {
		after := revise(entry)
		if after.Count() == 0 {
			delete(changed, entry.Key())
			continue
		}
		text, err := encode(after)
		if err != nil {
			return nil, err
		}
		if before, err := encode(entry); err != nil || before != text {
			changed[entry.Key()] = text
		}
	}
	return fit(changed)
}

// fit cuts the long lists of the oldest entries first, and then drops the oldest entries, until the ledger is
// within its bounds.
func fit(ledger map[string]string) (map[string]string, error) {
	keys, size := oldestFirst(ledger)
	for _, key := range keys {
		if size <= maxBytes {
			break
		}
		entry, err := decode(key, ledger[key])
		if err != nil || len(entry.Objects) <= shortList {
			continue
		}
		entry.More += len(entry.Objects) - shortList
		entry.Objects = entry.Objects[:shortList]
		text, err := encode(entry)
		if err != nil {
			return nil, err
		}
		size += len(text) - len(ledger[key])
		ledger[key] = text
	}
	dropped := 0
	for ; len(keys)-dropped > maxEntries || size > maxBytes; dropped++ {
		key := keys[dropped]
		size -= len(key) + len(ledger[key])
		delete(ledger, key)
	}
	if dropped > 0 {
		ledger[droppedKey] = strconv.Itoa(count(ledger[droppedKey]) + dropped)
	}
	return ledger, nil
}

// oldestFirst returns the keys of all entries, and how large they are together. What people wrote themselves
// comes first.
func oldestFirst(ledger map[string]string) (keys []string, size int) {
	at := map[string]time.Time{}
	for key, text := range ledger {
		if key == droppedKey {
			continue
		}
		entry, err := decode(key, text)
		if err == nil {
			at[key] = entry.At
		}
		keys = append(keys, key)
		size += len(key) + len(text)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(at[a].Compare(at[b]), strings.Compare(a, b)) })
	return keys, size
}
