package bounded

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"k8s.io/utils/clock"
)

// readAll reads the list in text, byte by byte if slowly is set, and returns its items.
func readAll(text string, slowly bool) ([]string, Page, error) {
	var body io.Reader = strings.NewReader(text)
	if slowly {
		body = iotest.OneByteReader(body)
	}
	var items []string
	list, err := readList(body, newTurn(clock.RealClock{}), nil, func(raw []byte) error {
		items = append(items, string(raw))
		return nil
	})
	return items, list, err
}

func TestListsAreReadItemByItem(t *testing.T) {
	for _, row := range []struct{ name, text, items string }{
		{"compact", `{"kind":"List","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b":"]}\""}]}`, `{"a":1} {"b":"]}\""}`},
		{"spaced", " {\n \"items\" : [ {\"a\" : [ ] } , {} ] , \"metadata\" : { \"resourceVersion\" : \"7\" } } ", `{"a" : [ ] } {}`},
		{"without items", `{"items":[],"metadata":{"resourceVersion":"7"}}`, ""},
		{"null", `{"items": null ,"other":12.5,"more":"x","flag":true,"metadata":{"resourceVersion":"7"}}`, ""},
		{"many", `{"metadata":{"resourceVersion":"7"},"items":[` + strings.Repeat(`{"a":1},`, 9999) + `{"a":1}]}`, strings.TrimSpace(strings.Repeat(`{"a":1} `, 10000))},
		{"one large among small", `{"metadata":{"resourceVersion":"7"},"items":[{},{"a":"` + strings.Repeat("x", 2*largeRead) + `"},{}]}`,
			`{} {"a":"` + strings.Repeat("x", 2*largeRead) + `"} {}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, slowly := range []bool{false, true} {
				items, list, err := readAll(row.text, slowly)
				if err != nil || list.ResourceVersion != "7" || strings.Join(items, " ") != row.items || list.Items != len(items) {
					t.Errorf("slowly %t: got %d items, %+v, %v", slowly, list.Items, list.ListMeta, err)
				}
				if !strings.HasSuffix(row.text, " ") && list.Bytes != len(row.text) {
					t.Errorf("slowly %t: counted %d bytes of %d", slowly, list.Bytes, len(row.text))
				}
			}
		})
	}
}

func TestWhatIsNoListFails(t *testing.T) {
	for _, text := range []string{
		"", "[]", "null", `"list"`, "{", `{"items"`, `{"items":`, `{"items":[`, `{"items":[{}`, `{"items":[{},`, `{"items":[{}]`, `{"items":{}}`,
		`{"items":[{} {}]}`, `{"items":[]]`, `{items:[]}`, `{"items" []}`, `{"metadata":{"resourceVersion":7}}`, `{"metadata":x}`, `{"a":1`, `{"a":1 "b":2}`, `{,}`,
	} {
		if items, _, err := readAll(text, true); err == nil {
			t.Errorf("%q is read as a list of %q", text, items)
		}
	}
}

func TestWhatIsTooLargeInAListFails(t *testing.T) {
	var limit *LimitError
	for name, text := range map[string]string{
		"bytes":  `{"items":[{"a":"` + strings.Repeat("x", maxFrame),
		"values": `{"items":[{"a":[` + strings.Repeat("1,", maxValues),
		"depth":  `{"items":[` + strings.Repeat("[", maxFrame),
		"number": `{"items":[` + strings.Repeat("1", maxFrame+1),
		"name":   `{"` + strings.Repeat("x", maxFrame),
	} {
		if _, _, err := readAll(text, false); !errors.As(err, &limit) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, _, err := readAll(`{"items":[`+strings.Repeat(`{"a":"`+strings.Repeat("x", 1<<20)+`"},`, maxPage>>20), false); !errors.Is(err, ErrPageTooLarge) {
		t.Errorf("a page of many large ones: got %v", err)
	}
}

// TestLittleOfALargeListIsInMemory counts what is allocated at once, which is the buffer.
func TestLittleOfALargeListIsInMemory(t *testing.T) {
	item := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	in := &values{body: strings.NewReader("[" + item + "," + item + "]"), limit: SizeLimit{maxFrame, maxValues}, wait: func() error { return nil }}
	count, err := in.elements(func(raw []byte) error {
		if held := cap(in.buffer); held > len(raw)*3/2 {
			t.Errorf("%d bytes are held of an object of %d", held, len(raw))
		}
		in.drop()
		if held := cap(in.buffer); held > keptBuffer+maxReadSize {
			t.Errorf("%d bytes are held after it", held)
		}
		return nil
	})
	if count != 2 || err != nil {
		t.Errorf("got %d objects, %v", count, err)
	}
}
