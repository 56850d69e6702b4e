package veleroversion

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
)

// someVelero is a cluster whose Velero answers when it is looked at for the second time.
type someVelero struct {
	created []byte
	looks   int
	deleted types.UID
	there   error
}

func (v *someVelero) Confirm(context.Context) error { return nil }

func (v *someVelero) Create(_ context.Context, _ objects.Ref, body []byte) (*metav1.PartialObjectMetadata, error) {
	v.created = body
	return nil, v.there
}

func (v *someVelero) Lookup(context.Context, objects.Ref) (map[string]any, error) {
	v.looks++
	content := map[string]any{"metadata": map[string]any{"uid": "7"}}
	if v.looks > 1 {
		content["status"] = map[string]any{"phase": "Processed", "serverVersion": "v1.17.2"}
	}
	return content, nil
}

func (v *someVelero) Delete(_ context.Context, _ objects.Ref, uid types.UID) error {
	v.deleted = uid
	return nil
}

func TestVeleroIsAskedForItsVersion(t *testing.T) {
	for name, there := range map[string]error{"the first time": nil, "a question of before is there": apierrors.NewAlreadyExists(schema.GroupResource{}, "nightly-1-version")} {
		cluster := &someVelero{there: there}
		answer, err := Ask(t.Context(), cluster, "velero", "nightly-1", "schedule-uid")
		if err != nil || answer != "v1.17.2" || cluster.deleted != "7" {
			t.Errorf("%s: %q, %v, deleted is %q", name, answer, err, cluster.deleted)
		}
		if !strings.Contains(string(cluster.created), `"uid":"schedule-uid"`) {
			t.Errorf("%s: nobody owns %s", name, cluster.created)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Ask(ended, &someVelero{}, "velero", "nightly-1", "schedule-uid"); err == nil {
		t.Error("it waits for an answer for ever")
	}
}
