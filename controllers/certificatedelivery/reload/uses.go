package reload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	secretKind    = "Secret"
	configMapKind = "ConfigMap"
)

// uses is whether the pods of a template load the Secret or ConfigMap of that name: as a volume, or as environment variables.
// What images are pulled with is loaded by kubelet anew each time.
func uses(pod corev1.PodSpec, kind, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(volume corev1.Volume) bool { return mounts(volume.VolumeSource, kind, name) }) ||
		slices.ContainsFunc(pod.InitContainers, func(container corev1.Container) bool { return reads(container, kind, name) }) ||
		slices.ContainsFunc(pod.Containers, func(container corev1.Container) bool { return reads(container, kind, name) })
}

func mounts(volume corev1.VolumeSource, kind, name string) bool {
	switch {
	case volume.Projected != nil:
		return slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool { return projects(source, kind, name) })
	case kind == secretKind:
		return volume.Secret != nil && volume.Secret.SecretName == name
	}
	return volume.ConfigMap != nil && volume.ConfigMap.Name == name
}

func projects(source corev1.VolumeProjection, kind, name string) bool {
	if kind == secretKind {
		return source.Secret != nil && source.Secret.Name == name
	}
	return source.ConfigMap != nil && source.ConfigMap.Name == name
}

func reads(container corev1.Container, kind, name string) bool {
	return slices.ContainsFunc(container.EnvFrom, func(source corev1.EnvFromSource) bool {
		if kind == secretKind {
			return source.SecretRef != nil && source.SecretRef.Name == name
		}
		return source.ConfigMapRef != nil && source.ConfigMapRef.Name == name
	}) || slices.ContainsFunc(container.Env, func(variable corev1.EnvVar) bool {
		from := variable.ValueFrom
		switch {
		case from == nil:
			return false
		case kind == secretKind:
			return from.SecretKeyRef != nil && from.SecretKeyRef.Name == name
		}
		return from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name == name
	})
}
