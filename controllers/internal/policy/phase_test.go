package policy

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

const conditionWave = "Wave"

// waveKind rolls out to the cluster due first, and to the others when that is ready.
type waveKind struct{ testKind }

func (waveKind) Phase(_ *addonsv1alpha1.SaaSAddon, input rollout.Input) Phase[*addonsv1alpha1.SaaSAddon] {
	second := slices.ContainsFunc(input.Targets, func(target rollout.Target) bool {
		return target.Cluster.Name == "due" && target.State == rollout.Ready && target.Revision == input.Clusters[0].Revision
	})
	reason := "First"
	if second {
		reason = "Second"
	}
	return Phase[*addonsv1alpha1.SaaSAddon]{
		SetStatus: func(addon *addonsv1alpha1.SaaSAddon) {
			meta.SetStatusCondition(&addon.Status.Conditions, metav1.Condition{
				Type: conditionWave, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(noon),
			})
		},
		GatesIn: func(cluster *rollout.Cluster) []rollout.Gate {
			if second || cluster.Name == "due" {
				return nil
			}
			return []rollout.Gate{{Reason: "WaveClosed", Message: "waiting for the first wave", Blocks: rollout.Create | rollout.Update}}
		},
	}
}

// recorded is a client that only keeps what it is asked to write.
type recorded struct {
	client.Client
	writes *[]string
	// refused is the answer to a write of the status.
	refused error
}

func (c recorded) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if target, ok := object.(*addonsv1alpha1.AddonRelease); ok {
		*c.writes = append(*c.writes, "create in "+target.Labels[metav1alpha1.LabelCluster])
	}
	return nil
}

func (c recorded) Status() client.SubResourceWriter { return recordedStatus{recorded: c} }

type recordedStatus struct {
	client.SubResourceWriter
	recorded recorded
}

func (s recordedStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	wave := meta.FindStatusCondition(object.(*addonsv1alpha1.SaaSAddon).Status.Conditions, conditionWave)
	*s.recorded.writes = append(*s.recorded.writes, "record "+wave.Reason)
	return s.recorded.refused
}

func TestThePhaseIsOnRecordBeforeTargetsChange(t *testing.T) {
	content := Content[*addonsv1alpha1.SaaSAddon]{Read: contentOf("content")}
	for name, test := range map[string]struct {
		delivered bool
		refused   error
		writes    []string
	}{
		"the first wave":                    {writes: []string{"record First", "create in due"}},
		"the second wave":                   {delivered: true, writes: []string{"record Second", "create in fresh", "create in waiting"}},
		"a record that could not be stored": {refused: errors.New("timeout"), writes: []string{"record First"}},
	} {
		t.Run(name, func(t *testing.T) {
			room := newToyRoom(t, waveKind{testKind{content: content}})
			if test.delivered {
				room.deliver("due", room.observe(noon).snapshot.Name)
			}
			writes := []string{}
			room.Client, room.Clock = recorded{room.Client, &writes, test.refused}, testingclock.NewFakePassiveClock(noon)
			o := room.observe(noon)
			p := newPlan(*o)
			done := room.apply(t.Context(), o, p)
			slices.Sort(writes[min(len(writes), 1):]) // Targets are created at the same time.
			if !errors.Is(done.err, test.refused) || !reflect.DeepEqual(writes, test.writes) {
				t.Errorf("writes %v, %v", writes, done.err)
			}
			status := newReport(room.Kind, *o, p, done).status.Status
			if meta.FindStatusCondition(status.Conditions, conditionWave) == nil {
				t.Errorf("the status has no phase: %+v", status)
			}
		})
	}
}
