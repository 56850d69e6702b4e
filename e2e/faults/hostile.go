package faults

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// block is what is sent at a time of what has no end.
var block = bytes.Repeat([]byte("x"), 64<<10)

// Pass hands a request on, as if there were no rule.
func Pass() Action { return pass }

// ByTurns deals with the first request as the first action says, with the next one as the next says, and after the last
// begins again.
func ByTurns(actions ...Action) Action {
	var turn atomic.Int64
	return func(e Exchange) { actions[int(turn.Add(1)-1)%len(actions)](e) }
}

// Inflate answers with an object that is compressed, whatever the client accepts, and takes so many bytes once it is
// inflated.
func Inflate(size int) Action {
	body := compress(`{"kind":"List","apiVersion":"v1","metadata":{"annotations":{"ballast":"`, size, `"}}}`)
	return func(e Exchange) {
		e.Response.Header().Set("Content-Encoding", "gzip")
		e.begin(http.StatusOK)
		e.write(body)
	}
}

// zipped is how many letters a part of what is compressed holds.
const zipped = 8 << 20

// compress makes a gzip of so many letters, in whole parts, between two texts. It has about a thousandth of their size.
func compress(before string, size int, after string) []byte {
	packed := part([]byte(before))
	if size > 0 {
		letters := part(bytes.Repeat([]byte("x"), zipped))
		packed = append(packed, bytes.Repeat(letters, (size+zipped-1)/zipped)...)
	}
	return append(packed, part([]byte(after))...)
}

// part is a gzip that others may follow: together they are one of all their texts.
func part(text []byte) []byte {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		panic(err) // Memory takes everything.
	}
	if err := zip.Close(); err != nil {
		panic(err) // The same.
	}
	return packed.Bytes()
}

// Endless answers with one object that has no end.
func Endless() Action {
	return func(e Exchange) {
		e.begin(http.StatusOK)
		e.write([]byte(`{"kind":"List","apiVersion":"v1","metadata":{"annotations":{"ballast":"`))
		e.flood()
	}
}

// EndlessEvent opens a watch, and begins an event that has no end.
func EndlessEvent() Action {
	return func(e Exchange) {
		e.begin(http.StatusOK)
		e.write([]byte(`{"type":"ADDED","object":{"metadata":{"annotations":{"ballast":"`))
		e.flood()
	}
}

// LongError answers with an error whose message has so many bytes, and is another one each time.
func LongError(code int32, size int) Action {
	var count atomic.Int64
	return func(e Exchange) {
		e.begin(int(code))
		fmt.Fprintf(e.Response, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":%d,"reason":%q,"message":"attempt %d: `,
			code, reasonOf(code), count.Add(1))
		e.write(bytes.Repeat([]byte("x"), size))
		e.write([]byte(`"}`))
	}
}

// reasonOf is the reason that an API server gives with a code.
func reasonOf(code int32) string {
	switch code {
	case http.StatusConflict:
		return "Conflict"
	case http.StatusUnprocessableEntity:
		return "Invalid"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusNotFound:
		return "NotFound"
	}
	return "InternalError"
}

// InventKinds answers discovery with so many groups, or kinds in a group, that there never were before.
func InventKinds(number int) Action {
	var count atomic.Int64
	return func(e Exchange) {
		e.begin(http.StatusOK)
		path := strings.Split(strings.Trim(e.Request.URL.Path, "/"), "/")
		kind, group := inventedGroups, strings.Join(path[1:], "/")
		if len(path) > 1 {
			kind = inventedKinds
		}
		fmt.Fprintf(e.Response, kind.before, group)
		for i := range number {
			if i > 0 {
				e.write([]byte(","))
			}
			fmt.Fprintf(e.Response, kind.item, count.Add(1))
		}
		e.write([]byte(kind.after))
	}
}

// invention is a list of what does not exist.
type invention struct{ before, item, after string }

var (
	inventedGroups = invention{
		before: `{"kind":"APIGroupList","apiVersion":"v1%.0s","groups":[`,
		item: `{"name":"g%[1]d.invented.example","versions":[{"groupVersion":"g%[1]d.invented.example/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"g%[1]d.invented.example/v1","version":"v1"}}`,
		after: `]}`,
	}
	inventedKinds = invention{
		before: `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`,
		item:   `{"name":"invented%[1]d","singularName":"invented%[1]d","namespaced":true,"kind":"Invented%[1]d","verbs":["get","list","watch","patch"]}`,
		after:  `]}`,
	}
)

// begin answers with a status, and says that JSON follows.
func (e Exchange) begin(code int) {
	e.Response.Header().Set("Content-Type", "application/json")
	e.Response.WriteHeader(code)
}

// write returns false once the client has gone.
func (e Exchange) write(content []byte) bool {
	_, err := io.Copy(e.Response, bytes.NewReader(content))
	return err == nil && e.Request.Context().Err() == nil
}

// flood writes until the client has gone.
func (e Exchange) flood() {
	for e.write(block) {
		select {
		case <-e.Closed:
			return
		default:
		}
	}
}
