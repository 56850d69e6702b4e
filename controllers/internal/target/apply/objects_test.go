package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

const installation = "test-installation"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func namespaceRef(name string) objects.Ref {
	return objects.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: name}
}

func declared(ref objects.Ref, hash string) Object {
	return Object{Ref: ref, Stage: StageOf(ref.GroupKind()), Body: []byte(`{}`), Hash: hash}
}
