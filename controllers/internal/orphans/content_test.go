package orphans

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

func manyObjects(count int) []Object {
	var many []Object
	for i := range count {
		many = append(many, object(fmt.Sprintf("v1/ConfigMap/data/%s-%d", strings.Repeat("x", 40), i)))
	}
	return many
}

func TestAReleaseOfTwoThousandObjectsIsKeptComplete(t *testing.T) {
	got := only(t, mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, manyObjects(2000)...)))
	if len(got.Objects) != 2000 || got.More != 0 {
		t.Errorf("%d objects, and %d more", len(got.Objects), got.More)
	}
}

func TestTheListsOfTheOldestEntriesAreCutFirst(t *testing.T) {
	var ledger map[string]string
	for i := range 5 {
		ledger = mustAdd(t, ledger, entryOf("prod", fmt.Sprintf("AddonRelease acme/%d", i), noon.Add(time.Duration(i)*time.Second), manyObjects(2000)...))
	}
	content := read(ledger)
	if size := sizeOf(ledger); size > maxBytes || len(content.Entries) != 5 || content.Dropped != 0 {
		t.Fatalf("%d bytes, %d entries, %d dropped", size, len(content.Entries), content.Dropped)
	}
	oldest, newest := content.Entries[0], content.Entries[4]
	if len(oldest.Objects) != shortList || oldest.More != 2000-shortList || len(newest.Objects) != 2000 || newest.More != 0 {
		t.Errorf("the oldest has %d and %d more, the newest %d and %d more", len(oldest.Objects), oldest.More, len(newest.Objects), newest.More)
	}
}

// filled is a ledger of so many entries, a second apart, beyond all bounds.
func filled(t *testing.T, entries, objects int) map[string]string {
	t.Helper()
	ledger := map[string]string{}
	for i := range entries {
		entry := entryOf("prod", fmt.Sprintf("AddonRelease acme/%d", i), noon.Add(time.Duration(i)*time.Second), manyObjects(objects)...)
		text, err := encode(entry)
		if err != nil {
			t.Fatal(err)
		}
		ledger[entry.Key()] = text
	}
	return ledger
}

func TestTheOldestEntriesMakeRoomAndAreCounted(t *testing.T) {
	newest := entryOf("prod", "AddonRelease acme/newest", noon.Add(time.Hour), manyObjects(100)...)
	ledger := mustAdd(t, filled(t, maxEntries+6, 100), newest)
	content := read(ledger)
	if content.Dropped < 7 || len(content.Entries)+content.Dropped != maxEntries+7 || sizeOf(ledger) > maxBytes+64 {
		t.Errorf("%d entries, %d dropped, %d bytes", len(content.Entries), content.Dropped, sizeOf(ledger))
	}
	if oldest := content.Entries[0]; oldest.At.Before(noon.Add(time.Duration(content.Dropped) * time.Second)) {
		t.Errorf("an old entry is there, and a newer one was dropped: %+v", oldest)
	}
}

func TestTheNumberOfEntriesIsBounded(t *testing.T) {
	ledger := filled(t, maxEntries, 1)
	for i := range 3 {
		ledger = mustAdd(t, ledger, entryOf("prod", fmt.Sprintf("AddonRelease acme/newer-%d", i), noon.Add(time.Hour), object("v1/Service/web/lb")))
	}
	if content := read(ledger); len(content.Entries) != maxEntries || content.Dropped != 3 {
		t.Errorf("%d entries, %d dropped", len(content.Entries), content.Dropped)
	}
}

func TestWhatPeopleWroteIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"prose":               "ask Jo about the volumes",
		"nothing":             "",
		"another JSON":        `["a"]`,
		"a wrong type":        `{"cluster":"acme/prod","objects":17}`,
		"no cluster":          `{"holder":"AddonRelease acme/a","objects":[]}`,
		"a path for a name":   `{"cluster":"acme/../prod","objects":[]}`,
		"a negative number":   `{"cluster":"acme/prod","more":-3,"objects":[]}`,
		"an endless number":   `{"cluster":"acme/prod","more":9223372036854775807,"objects":[]}`,
		"a year of 5 digits":  `{"cluster":"acme/prod","at":"9999-12-31T23:59:59-01:00","objects":[]}`,
		"a year before all":   `{"cluster":"acme/prod","at":"0000-01-01T00:00:00Z","objects":[]}`,
		"endless objects":     `{"cluster":"acme/prod","objects":[` + strings.Repeat(`"0",`, maxObjects) + `"0"]}`,
		"a terminal's escape": `{"cluster":"acme/prod","holder":"\u001b[2J","objects":[]}`,
		"an endless id":       `{"cluster":"acme/prod","objects":[{"id":"` + strings.Repeat("x", maxID+1) + `"}]}`,
		"an endless uid":      `{"cluster":"acme/prod","objects":[{"id":"v1/Service/a/b","uid":"` + strings.Repeat("x", maxUID+1) + `"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"note": text}
			if content := read(before); len(content.Entries) != 0 || len(content.Unreadable) != 1 || content.Unreadable[0] != "note" {
				t.Fatalf("it is read as %+v", content)
			}
			ledger := mustAdd(t, before, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb")))
			ledger, err := revised(ledger, func(entry Entry) Entry { entry.Objects = nil; return entry })
			if err != nil || !maps.Equal(ledger, before) {
				t.Errorf("%v, %v", ledger, err)
			}
		})
	}
}

func TestWhatSomebodySpoiltInOurPlaceIsWrittenAnew(t *testing.T) {
	entry := entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb"))
	for _, text := range []string{"?", `{"cluster":"acme/prod","at":"9999-12-31T23:59:59-01:00","objects":["a"]}`} {
		got := only(t, mustAdd(t, map[string]string{entry.Key(): text}, entry))
		if !got.At.Equal(noon) || len(got.Objects) != 1 {
			t.Errorf("after %q it is %+v", text, got)
		}
	}
}

// A note is what nobody else knows.
func TestNotesOfPeopleMakeRoomLast(t *testing.T) {
	ledger := filled(t, maxEntries+6, 100)
	ledger["note"] = "ask Jo about the volumes"
	for i := range maxEntries {
		ledger[fmt.Sprintf("note-%d", i)] = "?"
	}
	after := mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/newest", noon.Add(time.Hour), object("v1/Service/web/lb")))
	content := read(after)
	if len(content.Unreadable) != maxEntries+1 || content.Dropped < 7 || sizeOf(after) > maxBytes {
		t.Errorf("%d notes, %d entries, %d dropped, %d bytes", len(content.Unreadable), len(content.Entries), content.Dropped, sizeOf(after))
	}
}

func TestTheNewestEntryIsNeverDroppedForANote(t *testing.T) {
	ledger := filled(t, 2, 1)
	ledger["note"] = strings.Repeat("x", maxBytes)
	newest := entryOf("prod", "AddonRelease acme/newest", noon.Add(time.Hour), object("v1/Service/web/lb"))
	if got := only(t, mustAdd(t, ledger, newest)); got.Holder != newest.Holder {
		t.Errorf("what is left is %+v", got)
	}
}

// What is told in parts may be more than any release has at a time.
func TestWhatGrowsBeyondAllBoundsCanStillBeRead(t *testing.T) {
	var other []Object
	for i := range maxObjects {
		other = append(other, object(fmt.Sprintf("v1/Secret/a/%d", i)))
	}
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, manyObjects(2000)...))
	got := only(t, mustAdd(t, ledger, entryOf("prod", "AddonRelease acme/a", noon, other...)))
	if len(got.Objects) != maxObjects || got.More != 2000 {
		t.Errorf("%d objects, and %d more", len(got.Objects), got.More)
	}
}

func TestALedgerThatListsMoreThanOursCouldIsReadInPart(t *testing.T) {
	ledger := map[string]string{}
	for i := range 100 {
		ledger[fmt.Sprintf("theirs-%d", i)] = `{"cluster":"acme/prod","at":"2026-03-02T12:00:00Z","objects":[` + strings.Repeat(`"0",`, maxObjects-1) + `"0"]}`
	}
	ours := entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb"))
	ledger[ours.Key()], _ = encode(ours)
	content, listed := read(ledger), 0
	for _, entry := range content.Entries {
		listed += len(entry.Objects)
	}
	if listed > maxListed || len(content.Entries)+len(content.Unreadable) != 101 || content.Entries[0].Holder != ours.Holder {
		t.Errorf("%d objects in %d entries, and %d that are unreadable", listed, len(content.Entries), len(content.Unreadable))
	}
}

func TestAListOfNamesIsReadToo(t *testing.T) {
	got := only(t, map[string]string{"mine": `{"cluster":"acme/prod","objects":["v1/Service/web/lb",{"id":"v1/Service/web/a","uid":"1","note":"?"}]}`})
	if got.Key() != "mine" || len(got.Objects) != 2 || got.Objects[0].UID != "1" || got.Objects[1].ID != "v1/Service/web/lb" {
		t.Errorf("it is read as %+v", got)
	}
}

func TestANumberThatSomebodySpoiltIsCountedAnew(t *testing.T) {
	for text, want := range map[string]int{"": 0, "many": 0, "-4": 0, " 12\n": 12} {
		if got := read(map[string]string{droppedKey: text}).Dropped; got != want {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestARevisionKeepsTheEntryWhereItWasFound(t *testing.T) {
	before := map[string]string{"mine": `{"cluster":"acme/prod","objects":["v1/Service/web/lb","v1/Service/web/a"]}`, droppedKey: "3"}
	after, err := revised(before, func(entry Entry) Entry {
		entry.Objects = entry.Objects[:1]
		return entry
	})
	if content := read(after); err != nil || len(after) != 2 || content.Entries[0].Key() != "mine" || len(content.Entries[0].Objects) != 1 || content.Dropped != 3 {
		t.Errorf("%v, %v", after, err)
	}
	same, err := revised(before, func(entry Entry) Entry { return entry })
	if err != nil || !maps.Equal(same, before) {
		t.Errorf("what nobody changed is written anew: %v, %v", same, err)
	}
}

func TestAnEntryGoesWithItsLastObject(t *testing.T) {
	ledger := mustAdd(t, nil, entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb")))
	after, err := revised(ledger, func(entry Entry) Entry { entry.Objects = nil; return entry })
	if err != nil || len(after) != 0 {
		t.Errorf("%v, %v", after, err)
	}
}
