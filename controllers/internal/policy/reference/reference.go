// Package reference reads the objects that policies name. They are in the policy's own namespace.
package reference

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/policy"
)

// ConfigMap reads a ConfigMap that a field names. It returns a stall if there is none.
func ConfigMap(ctx context.Context, reader client.Reader, key types.NamespacedName, field string) (*corev1.ConfigMap, *policy.Stall, error) {
	config := &corev1.ConfigMap{}
	stall, err := read(ctx, reader, key, field, "ConfigMap", config)
	return config, stall, err
}

// Secret reads a Secret that a field names. It returns a stall if there is none.
func Secret(ctx context.Context, reader client.Reader, key types.NamespacedName, field string) (*corev1.Secret, *policy.Stall, error) {
	secret := &corev1.Secret{}
	stall, err := read(ctx, reader, key, field, "Secret", secret)
	return secret, stall, err
}

func read(ctx context.Context, reader client.Reader, key types.NamespacedName, field, kind string, into client.Object) (*policy.Stall, error) {
	err := reader.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return &policy.Stall{
			Reason:  metav1alpha1.ReasonReferenceNotFound,
			Message: fmt.Sprintf("%s %s, which %s names, does not exist: create it, or remove the reference", kind, key, field),
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	return nil, nil
}
