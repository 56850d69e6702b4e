package bounded

import (
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Page is what a list tells beside its objects.
type Page struct {
	metav1.ListMeta
	// Items and bytes that were in it.
	Items, Bytes int
}

// readList hands on the items of a list as they come. It waits for its turn until ended is closed.
func readList(body io.Reader, large *Turn, ended <-chan struct{}, take func([]byte) error) (Page, error) {
	list := Page{}
	share := Share{Turn: large}
	in := &values{
		body: body, what: "an object of the list", limit: SizeLimit{maxFrame, maxValues}, most: maxPage, tooMuch: ErrPageTooLarge,
		wait: func() error { return share.Take(ended) },
	}
	err := in.members(func(name string) error {
		var err error
		switch name {
		case "items":
			list.Items, err = in.elements(func(raw []byte) error {
				err := take(raw)
				in.drop()
				share.Give()
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
	list.Bytes = in.total
	return list, err
}
