package orphans

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusing is a management cluster without a ledger, in which none can be made.
type refusing struct {
	client.Client
	err error
}

func (r refusing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, Name)
}

func (r refusing) Create(context.Context, client.Object, ...client.CreateOption) error { return r.err }

func TestADeletionHangsOnNoLedgerThatIsRefusedForGood(t *testing.T) {
	resource := corev1.Resource("configmaps")
	for name, row := range map[string]struct {
		err  error
		hung bool
	}{
		"the namespace is gone":        {apierrors.NewNotFound(resource, Name), false},
		"the quota is used up":         {apierrors.NewForbidden(resource, Name, errors.New("exceeded quota")), false},
		"it is immutable":              {apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, Name, nil), false},
		"a policy engine refuses it":   {apierrors.NewBadRequest("ConfigMaps need a cost center"), false},
		"the API server does not work": {apierrors.NewInternalError(errors.New("no leader")), true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := refusing{err: row.err}
			err := Ledger{Reader: cluster, Writer: cluster}.Record(t.Context(), entryOf("prod", "AddonRelease acme/a", noon, object("v1/Service/web/lb")))
			if (err != nil) != row.hung {
				t.Errorf("it fails with %v", err)
			}
		})
	}
}
