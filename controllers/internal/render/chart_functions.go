package render

import (
	"maps"
	"slices"
	"strconv"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// lookupFunction is the template function lookup.
type lookupFunction = func(apiVersion, kind, namespace, name string) (map[string]any, error)

// chartFunctions stand in for functions of the same name in Helm's engine.
func chartFunctions(lookup lookupFunction) template.FuncMap {
	return template.FuncMap{
		"lookup": lookup,
		// In Helm their order is random; any one is as good, and one that stays makes a rendering
		// that can be repeated.
		"keys":   sortedKeys,
		"values": sortedValues,
	}
}

func sortedKeys(dictionaries ...map[string]any) []string {
	keys := []string{}
	for _, dictionary := range dictionaries {
		keys = append(keys, slices.Sorted(maps.Keys(dictionary))...)
	}
	return keys
}

func sortedValues(dictionary map[string]any) []any {
	values := make([]any, 0, len(dictionary))
	for _, key := range sortedKeys(dictionary) {
		values = append(values, dictionary[key])
	}
	return values
}

// laterBy is how much later a second rendering seems to be: enough that the year, month, day,
// weekday, hour, minute and second all differ.
const laterBy = 400*24*time.Hour + 13*time.Hour + 17*time.Minute + 31*time.Second + 123456789*time.Nanosecond

// laterFunctions are sprig's functions that read the clock, with the clock put forward.
func laterFunctions() template.FuncMap {
	original := sprig.TxtFuncMap()
	dateInZone := original["dateInZone"].(func(string, any, string) string)
	ago := original["ago"].(func(any) string)
	rounded := original["durationRound"].(func(any) string)
	later := template.FuncMap{
		"now":            func() time.Time { return time.Now().Add(laterBy) },
		"date":           func(format string, date any) string { return dateInZone(format, orLater(date), "Local") },
		"dateInZone":     func(format string, date any, zone string) string { return dateInZone(format, orLater(date), zone) },
		"htmlDate":       func(date any) string { return dateInZone(time.DateOnly, orLater(date), "Local") },
		"htmlDateInZone": func(date any, zone string) string { return dateInZone(time.DateOnly, orLater(date), zone) },
		"ago":            func(date any) string { return ago(earlier(date)) },
		"durationRound":  func(duration any) string { return rounded(earlier(duration)) },
	}
	later["date_in_zone"] = later["dateInZone"]
	return later
}

// orLater is the date that is formatted: what is none stands for now.
func orLater(date any) any {
	switch date.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return date
	}
	return time.Now().Add(laterBy)
}

// earlier makes more time pass since a date.
func earlier(date any) any {
	if date, isTime := date.(time.Time); isTime {
		return date.Add(-laterBy)
	}
	return date
}

// draws makes random functions differ from one rendering to the next even where chance alone
// would often let them agree: a number from 1 to 2, two letters shuffled. Functions whose results
// are longer need no help.
type draws struct {
	earlier []string
	current []string
}

// again starts the next rendering.
func (d *draws) again() { d.earlier, d.current = d.current, nil }

// other draws until it gets something else than the same draw gave in the rendering before, or
// there seems to be nothing else.
func (d *draws) other(draw func() string) string {
	const tries = 64
	drawn := draw()
	if position := len(d.current); position < len(d.earlier) {
		for try := 0; try < tries && drawn == d.earlier[position]; try++ {
			drawn = draw()
		}
	}
	d.current = append(d.current, drawn)
	return drawn
}

func (d *draws) functions() template.FuncMap {
	original := sprig.TxtFuncMap()
	differing := template.FuncMap{}
	for _, name := range []string{"randAlphaNum", "randAlpha", "randAscii", "randNumeric"} {
		random := original[name].(func(int) string)
		differing[name] = func(length int) string { return d.other(func() string { return random(length) }) }
	}
	shuffle := original["shuffle"].(func(string) string)
	differing["shuffle"] = func(text string) string { return d.other(func() string { return shuffle(text) }) }
	randInt := original["randInt"].(func(int, int) int)
	differing["randInt"] = func(from, to int) (int, error) {
		return strconv.Atoi(d.other(func() string { return strconv.Itoa(randInt(from, to)) }))
	}
	return differing
}
