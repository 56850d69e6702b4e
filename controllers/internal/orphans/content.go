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
	// maxListed is how many objects all entries together may list: more than fit into maxBytes, whoever names them in
	// full. Somebody who wrote shorter ones could make us work on a hundred thousand.
	maxListed = 20_000
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
	// Unreadable are the keys below which stands what is no entry. It is left alone, and is the last to make room.
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
	content.bound()
	slices.Sort(content.Unreadable)
	return content
}

// bound takes out the latest of entries that list more objects than a ledger of ours could.
func (c *Content) bound() {
	listed := 0
	c.Entries = slices.DeleteFunc(c.Entries, func(entry Entry) bool {
		if listed+len(entry.Objects) > maxListed {
			c.Unreadable = append(c.Unreadable, entry.Key())
			return true
		}
		listed += len(entry.Objects)
		return false
	})
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

// fit cuts the long lists of the oldest entries first, and then drops what is to go first, until the ledger is
// within its bounds.
func fit(ledger map[string]string) (map[string]string, error) {
	keys, entries := inOrder(ledger)
	size := sizeOf(ledger)
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
	for ; entries-dropped > maxEntries || size > maxBytes; dropped++ {
		key := keys[dropped]
		size -= len(key) + len(ledger[key])
		delete(ledger, key)
	}
	if dropped > 0 {
		ledger[droppedKey] = strconv.Itoa(count(ledger[droppedKey]) + dropped)
	}
	return ledger, nil
}

// sizeOf is how large all is but the count of what was dropped.
func sizeOf(ledger map[string]string) int {
	size := 0
	for key, text := range ledger {
		if key != droppedKey {
			size += len(key) + len(text)
		}
	}
	return size
}

// inOrder returns the keys in the order in which they make room, and how many are of entries: these come first, the
// oldest before all, then what people wrote themselves, and last the newest entry, so that it is never lost.
func inOrder(ledger map[string]string) (keys []string, count int) {
	at := map[string]time.Time{}
	var entries, others []string
	for key, text := range ledger {
		if key == droppedKey {
			continue
		}
		entry, err := decode(key, text)
		if err != nil {
			others = append(others, key)
			continue
		}
		entries, at[key] = append(entries, key), entry.At
	}
	slices.SortFunc(entries, func(a, b string) int { return cmp.Or(at[a].Compare(at[b]), strings.Compare(a, b)) })
	slices.Sort(others)
	newest := max(len(entries)-1, 0)
	return slices.Concat(entries[:newest], others, entries[newest:]), len(entries)
}
