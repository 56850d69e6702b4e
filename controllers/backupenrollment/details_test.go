package backupenrollment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

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
	before := allDetails{idAt(3): withVolumes(1, 1)}
	found, err := readEach(t.Context(), store, []backupID{idAt(1), idAt(2)}, before)
	if err == nil || !strings.Contains(err.Error(), "backup nightly-01: bucket b has no nightly-01") {
		t.Errorf("the error is %v", err)
	}
	if one := found[idAt(1)]; one.read || one.problem != "bucket b has no nightly-01" {
		t.Errorf("the first is %+v", one)
	}
	one := found[idAt(2)]
	if !one.read || *one.bytes != 7 || !slices.Equal(one.problems, []string{"shop: no such pod", "warning: velero: slow"}) {
		t.Errorf("the second is %+v", one)
	}
	if volumes := one.volumes; *volumes.Total != 3 || *volumes.Covered != 2 || volumes.Uncovered[0].Name != "shop/data" || volumes.Uncovered[0].Reason != "no driver" {
		t.Errorf("its volumes are %+v", volumes)
	}
	if !found[idAt(3)].read || len(before) != 1 {
		t.Error("what was read before is lost, or was changed")
	}
}
