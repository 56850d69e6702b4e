package helmclient

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/diff"
)

// Without returns a view whose records lack what two tools may rightly do differently. It calls drop with
// each record, which is a copy.
func (v View) Without(drop func(*Record)) View {
	other := maps.Clone(v)
	for id, object := range v {
		if object.Record != nil {
			record := *object.Record
			record.Release, record.Times = copied(record.Release), maps.Clone(record.Times)
			drop(&record)
			other[id] = Object{Content: object.Content, Record: &record}
		}
	}
	return other
}

// Diff tells, object by object, what of v is not the same in other: lines with - are of v, those with +
// of other. It is empty if the two are the same, but for the times in their records.
func (v View) Diff(other View) string {
	v, other = v.Without(times), other.Without(times)
	var text strings.Builder
	ids := maps.Clone(v)
	maps.Copy(ids, other)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		before, wasThere := v[id]
		after, isThere := other[id]
		switch {
		case !isThere:
			fmt.Fprintf(&text, "- %s\n", id)
		case !wasThere:
			fmt.Fprintf(&text, "+ %s\n", id)
		case !reflect.DeepEqual(before, after):
			fmt.Fprintf(&text, "%s\n%s", id, diff.Diff(before, after))
		}
	}
	return text.String()
}

func times(record *Record) { record.Times = nil }
