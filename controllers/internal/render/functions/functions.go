package functions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// sprigFunctions maps the names that templates may use to sprig's (their reference:
// https://masterminds.github.io/sprig/). The must variants stand in for those that would turn an
// error into an empty result. Left out on purpose: whatever reads a clock, a random source, the
// network, a file or the environment; keys and values, whose order is random; set, unset and
// merge, which change what they are given.
func sprigFunctions() map[string]string {
	return map[string]string{
		// Strings.
		"trim": "trim", "trimAll": "trimAll", "trimPrefix": "trimPrefix", "trimSuffix": "trimSuffix",
		"lower": "lower", "upper": "upper", "replace": "replace", "trunc": "trunc",
		"contains": "contains", "hasPrefix": "hasPrefix", "hasSuffix": "hasSuffix",
		"quote": "quote", "indent": "indent", "nindent": "nindent", "toString": "toString",
		// Lists and dictionaries.
		"split": "split", "splitList": "splitList", "join": "join", "sortAlpha": "sortAlpha",
		"list": "list", "first": "mustFirst", "last": "mustLast", "append": "mustAppend",
		"concat": "concat", "uniq": "mustUniq", "has": "mustHas", "until": "until",
		"dict": "dict", "get": "get", "hasKey": "hasKey",
		// Choices.
		"default": "default", "empty": "empty", "coalesce": "coalesce", "ternary": "ternary", "fail": "fail",
		// Numbers and versions.
		"int": "int", "add": "add", "sub": "sub", "mul": "mul", "div": "div", "mod": "mod",
		"max": "max", "min": "min", "semverCompare": "semverCompare",
		// Encodings and hashes.
		"toJson": "mustToJson", "fromJson": "mustFromJson", "b64enc": "b64enc", "sha256sum": "sha256sum",
	}
}

// All returns everything that templates may call beside text/template's own.
func All() template.FuncMap {
	offered := sprig.TxtFuncMap()
	allowed := template.FuncMap{
		"b64dec": decodeBase64,
		"index":  index,
		"printf": printf,
		"squote": singleQuote,
		"toYaml": toYAML,
	}
	for name, from := range sprigFunctions() {
		allowed[name] = offered[from]
	}
	return allowed
}

// decodeBase64 fails on bad input; sprig's b64dec would render the error's text.
func decodeBase64(encoded string) (string, error) {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", errors.New("the value is not base64")
	}
	return string(decoded), nil
}

var pointerVerb = regexp.MustCompile(`%[^%a-zA-Z]*p`)

// printf is text/template's without %p: an address differs from one rendering to the next.
func printf(format string, args ...any) (string, error) {
	if pointerVerb.MatchString(strings.ReplaceAll(format, "%%", "")) {
		return "", errors.New("printf has no %p here")
	}
	return fmt.Sprintf(format, args...), nil
}

// singleQuote makes a single-quoted YAML string; sprig's squote would let a quote in the value end it.
func singleQuote(value any) string {
	return "'" + strings.ReplaceAll(fmt.Sprint(value), "'", "''") + "'"
}

// toYAML has no final line break, so that it can be piped to indent and nindent.
func toYAML(value any) (string, error) {
	encoded, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(encoded), "\n"), err
}

// index is text/template's, except that a missing key is an error, as it is for a field: the
// builtin renders "<no value>".
func index(item any, keys ...any) (any, error) {
	for _, key := range keys {
		value := reflect.ValueOf(item)
		switch value.Kind() {
		case reflect.Map:
			name, isString := key.(string)
			if !isString || value.Type().Key().Kind() != reflect.String {
				return nil, fmt.Errorf("index of a dictionary must be a string, not %T", key)
			}
			value = value.MapIndex(reflect.ValueOf(name))
			if !value.IsValid() {
				return nil, fmt.Errorf("map has no entry for key %q", name)
			}
		case reflect.Slice:
			position, isInt := key.(int)
			if !isInt || position < 0 || position >= value.Len() {
				return nil, fmt.Errorf("a list of %d has no element %v", value.Len(), key)
			}
			value = value.Index(position)
		default:
			return nil, fmt.Errorf("cannot index a value of type %T", item)
		}
		item = value.Interface()
	}
	return item, nil
}
