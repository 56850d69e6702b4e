package details

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/backuptest"
	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/backupstore"
)

// bucketOf has the details of backups by name.
type bucketOf map[string]backupstore.Details

// Details implements detailsStore.
func (b bucketOf) Details(ctx context.Context, name string) (backupstore.Details, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return backupstore.Details{}, errors.New("nothing ends it")
	}
	found, ok := b[name]
	if !ok {
		return found, errors.New("bucket b has no " + name)
	}
	return found, nil
}

func TestABackupThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	store := bucketOf{"nightly-02": {
		Bytes: 7, Problems: []backupstore.Problem{{Origin: "shop", Words: "no such pod"}, {Origin: "velero", Words: "slow", IsWarning: true}},
		Volumes: &backupstore.Volumes{Total: 3, Covered: 2, Uncovered: []backupstore.Volume{{Name: "shop/data", Reason: "no driver"}}},
	}}
	before := history.AllDetails{backuptest.IDAt(3): backuptest.WithVolumes(1, 1)}
	found, err := ReadEach(t.Context(), store, []history.ID{backuptest.IDAt(1), backuptest.IDAt(2)}, before)
	if err == nil || !strings.Contains(err.Error(), "backup nightly-01: bucket b has no nightly-01") {
		t.Errorf("the error is %v", err)
	}
	if one := found[backuptest.IDAt(1)]; one.Read || one.Problem != "bucket b has no nightly-01" {
		t.Errorf("the first is %+v", one)
	}
	one := found[backuptest.IDAt(2)]
	if !one.Read || *one.Bytes != 7 || !slices.Equal(one.Problems, []string{"shop: no such pod", "warning: velero: slow"}) {
		t.Errorf("the second is %+v", one)
	}
	if volumes := one.Volumes; *volumes.Total != 3 || *volumes.Covered != 2 || volumes.Uncovered[0].Name != "shop/data" || volumes.Uncovered[0].Reason != "no driver" {
		t.Errorf("its volumes are %+v", volumes)
	}
	if !found[backuptest.IDAt(3)].Read || len(before) != 1 {
		t.Error("what was read before is lost, or was changed")
	}
}
