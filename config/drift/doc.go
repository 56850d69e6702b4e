// Package drift carries the built-in catalog of drift exceptions into the manager. The file beside it is the
// one source; controllers/internal/managedfields reads it.
package drift

import _ "embed"

// Exceptions is exceptions.yaml.
//
//go:embed exceptions.yaml
var Exceptions []byte
