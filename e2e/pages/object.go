package pages

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/tools/local/manifests"
)

// Object is an object that a page shows.
type Object struct {
	*unstructured.Unstructured
	// Block is the block that it is in.
	Block Block
}

// String tells what the object is, and where.
func (o Object) String() string { return fmt.Sprintf("%s: %s %s", o.Block, o.GetKind(), o.GetName()) }

// Objects returns the objects of all manifests, in the order of the pages. There is at least one, or an error.
func Objects(root string) ([]Object, error) {
	blocks, err := OfClass(root, Manifests)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, block := range blocks {
		objects, err := manifests.Parse([]byte(block.Text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", block, err)
		}
		if len(objects) == 0 {
			return nil, fmt.Errorf("%s: the manifest has no object", block)
		}
		for _, object := range objects {
			all = append(all, Object{Unstructured: object, Block: block})
		}
	}
	return all, nil
}
