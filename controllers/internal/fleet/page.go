package fleet

import (
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page is what a list tells beside its objects.
type page struct {
	metav1.ListMeta
	// items and bytes that were in it.
	items, bytes int
}

// readList hands on the items of a list as they come. It waits for its turn until ended is closed.
func readList(body io.Reader, large *turn, ended <-chan struct{}, take func([]byte) error) (page, error) {
	list := page{}
	share := share{turn: large}
	in := &values{
		body: body, what: "an object of the list", limit: sizeLimit{maxFrame, maxValues}, most: maxPage, tooMuch: errPageTooLarge,
		wait: func() error { return share.take(ended) },
	}
	err := in.members(func(name string) error {
		var err error
		switch name {
		case "items":
			list.items, err = in.elements(func(raw []byte) error {
				err := take(raw)
				in.drop()
				share.give()
				return err
			})
		case "metadata":
			var raw []byte
			if raw, err = in.next(); err == nil {
				err = json.Unmarshal(raw, &list.ListMeta)
			}
		default:
			_, err = in.next()
		}
		return err
	})
	share.end(err)
	list.bytes = in.total
	return list, err
}
