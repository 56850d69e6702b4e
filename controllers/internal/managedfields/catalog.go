package managedfields

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/daytwo-dev/daytwo/config/drift"
)

// maxCatalog is how large a catalog may be, in bytes, and maxExceptions how many rows it may have: every row is
// looked at for every foreign field.
const (
	maxCatalog    = 256 << 10
	maxExceptions = 500
)

// Exception is a row of the catalog: fields that a program changes by design. It holds whether or not they are
// declared. config/drift/exceptions.yaml explains its fields.
type Exception struct {
	Manager      string   `json:"manager"`
	Operation    string   `json:"operation,omitempty"`
	Group        string   `json:"group,omitempty"`
	Kinds        []string `json:"kinds"`
	Fields       []string `json:"fields"`
	WhenDeclared []string `json:"whenDeclared,omitempty"`
	Why          string   `json:"why"`
}

// Catalog lists exceptions.
type Catalog []Exception

// DefaultCatalog is the one that is built in.
func DefaultCatalog() Catalog {
	catalog, err := ParseCatalog(drift.Exceptions)
	if err != nil {
		panic(fmt.Sprintf("config/drift/exceptions.yaml: %v", err)) // A test reads it.
	}
	return catalog
}

// ParseCatalog reads a catalog. Errors name the row and the field.
func ParseCatalog(text []byte) (Catalog, error) {
	if len(text) > maxCatalog {
		return nil, fmt.Errorf("%d bytes, more than the %d that a catalog may have", len(text), maxCatalog)
	}
	var file struct {
		Exceptions Catalog `json:"exceptions"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("no catalog of exceptions: %w", err)
	}
	if len(file.Exceptions) > maxExceptions {
		return nil, fmt.Errorf("exceptions: %d rows, more than the %d that a catalog may have", len(file.Exceptions), maxExceptions)
	}
	for i := range file.Exceptions {
		if err := file.Exceptions[i].validate(); err != nil {
			return nil, fmt.Errorf("exceptions[%d] (manager %q): %w", i, file.Exceptions[i].Manager, err)
		}
	}
	return file.Exceptions, nil
}

func (e Exception) validate() error {
	switch {
	case e.Manager == "":
		return errors.New("manager is missing")
	case strings.Contains(e.Manager, "*"):
		return errors.New("manager has no wildcards; write a row for each")
	case e.Operation != "" && e.Operation != string(metav1.ManagedFieldsOperationApply) && e.Operation != string(metav1.ManagedFieldsOperationUpdate):
		return fmt.Errorf("operation is %q; use Update or Apply", e.Operation)
	case len(e.Kinds) == 0 || slices.Contains(e.Kinds, ""):
		return errors.New("kinds are missing")
	case len(e.Fields) == 0:
		return errors.New("fields are missing")
	case strings.TrimSpace(e.Why) == "":
		return errors.New("why is missing; say what the program does")
	}
	for _, pointer := range slices.Concat(e.Fields, e.WhenDeclared) {
		if !strings.HasPrefix(pointer, "/") || slices.Contains(Tokens(pointer), "") {
			return fmt.Errorf("%q is no JSON pointer to a field, such as /webhooks/*/failurePolicy", pointer)
		}
	}
	return nil
}

// excepts says whether a row names a field of an entry.
func (c Catalog) excepts(s Subject, entry *metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	return slices.ContainsFunc(c, func(e Exception) bool { return e.applies(s, entry) && e.names(s, path) })
}

func (e Exception) applies(s Subject, entry *metav1.ManagedFieldsEntry) bool {
	return e.Manager == entry.Manager && (e.Operation == "" || e.Operation == string(entry.Operation)) &&
		e.Group == s.Kind.Group && slices.Contains(e.Kinds, s.Kind.Kind) &&
		!slices.ContainsFunc(e.WhenDeclared, func(pointer string) bool { return !s.declaresBelow(pointer) })
}

func (e Exception) names(s Subject, path fieldpath.Path) bool {
	return slices.ContainsFunc(e.Fields, func(pointer string) bool { return s.matches(path, Tokens(pointer)) })
}
