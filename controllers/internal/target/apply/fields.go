package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// withoutFields removes the fields of some JSON pointers from a body.
func withoutFields(body []byte, pointers []string) ([]byte, error) {
	if len(pointers) == 0 {
		return body, nil
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("leave out fields: %w", err)
	}
	for _, pointer := range pointers {
		remove(object, managedfields.Tokens(pointer))
	}
	return json.Marshal(object)
}

// declares tells whether a path leads to something. An element of a list is given by its index.
func declares(in any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch typed := in.(type) {
	case map[string]any:
		value, ok := typed[path[0]]
		return ok && declares(value, path[1:])
	case []any:
		index, err := strconv.Atoi(path[0])
		return err == nil && index >= 0 && index < len(typed) && declares(typed[index], path[1:])
	}
	return false
}

// remove deletes a field of a map, or of one element of a list that the path gives the index of.
func remove(in any, path []string) {
	switch typed := in.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(typed, path[0])
			return
		}
		remove(typed[path[0]], path[1:])
	case []any:
		var index int
		if _, err := fmt.Sscanf(path[0], "%d", &index); err == nil && index >= 0 && index < len(typed) && len(path) > 1 {
			remove(typed[index], path[1:])
		}
	}
}

// DeclaredAmong returns the pointers that lead to something in an object.
func DeclaredAmong(object map[string]any, pointers []string) []string {
	return slices.DeleteFunc(slices.Clone(pointers), func(pointer string) bool { return !declares(object, managedfields.Tokens(pointer)) })
}
