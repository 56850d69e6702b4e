package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// A change that failed without an answer may have been made.
func TestAnAnswerTellsWhetherAChangeMayHaveBeenMade(t *testing.T) {
	resource := clusterv1.GroupVersion.WithResource("clusters").GroupResource()
	for name, test := range map[string]struct {
		err                 error
		taken, lost, failed bool
	}{
		"taken":                              {nil, true, false, false},
		"no answer in time":                  {fmt.Errorf("PATCH: no answer within 15s: %w", context.DeadlineExceeded), false, true, true},
		"the API server does not know":       {apierrors.NewTimeoutError("etcdserver: request timed out", 1), false, true, true},
		"a webhook did not answer":           {apierrors.NewInternalError(errors.New("failed calling webhook")), false, true, true},
		"somebody else wrote it":             {apierrors.NewConflict(resource, "prod", errors.New("it has changed")), false, false, true},
		"the API server is busy":             {apierrors.NewTooManyRequestsError("later"), false, false, true},
		"Cluster API says that it is not so": {apierrors.NewInvalid(Kind.GroupKind(), "prod", nil), false, false, false},
	} {
		clusters := Clusters{installation: "test", client: interceptor.NewClient(nil, interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return test.err
			},
		})}
		answer, err := clusters.Change(t.Context(), &clusterv1.Cluster{}, &clusterv1.Cluster{})
		if (answer.Cluster != nil) != test.taken || answer.Lost != test.lost || (err != nil) != test.failed {
			t.Errorf("%s: taken: %t, lost: %t, refused: %q, %v", name, answer.Cluster != nil, answer.Lost, answer.Refused, err)
		}
	}
}
