package reload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func reference(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

func TestAWorkloadUsesWhatItsPodsLoad(t *testing.T) {
	container := func(change func(*corev1.Container)) corev1.PodSpec {
		one := corev1.Container{Name: "web"}
		change(&one)
		return corev1.PodSpec{Containers: []corev1.Container{{Name: "proxy"}, one}}
	}
	volume := func(source corev1.VolumeSource) corev1.PodSpec {
		return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "scratch"}, {Name: "tls", VolumeSource: source}}}
	}
	projected := func(sources ...corev1.VolumeProjection) corev1.PodSpec {
		return volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}})
	}
	for name, test := range map[string]struct {
		pod                 corev1.PodSpec
		secret, configMapIs bool
	}{
		"nothing":          {},
		"a Secret mounted": {pod: volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "it"}}), secret: true},
		"another mounted":  {pod: volume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "it-too"}})},
		"a ConfigMap mounted": {
			pod: volume(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: reference("it")}}), configMapIs: true,
		},
		"both projected": {pod: projected(
			corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}},
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: reference("it")}},
			corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference("it")}},
		), secret: true, configMapIs: true},
		"all variables of a Secret": {pod: container(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("it")}}}
		}), secret: true},
		"all variables of a ConfigMap": {pod: container(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{}, {ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: reference("it")}}}
		}), configMapIs: true},
		"one variable of a Secret": {pod: container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", Value: "it"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: reference("it")}}}}
		}), secret: true},
		"one variable of a ConfigMap": {pod: container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: reference("it")}}}}
		}), configMapIs: true},
		"an init container": {pod: corev1.PodSpec{InitContainers: []corev1.Container{{
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: reference("it")}}},
		}}}, secret: true},
		"what images are pulled with": {pod: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{reference("it")}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := uses(test.pod, "Secret", "it"); got != test.secret {
				t.Errorf("uses the Secret: %t", got)
			}
			if got := uses(test.pod, "ConfigMap", "it"); got != test.configMapIs {
				t.Errorf("uses the ConfigMap: %t", got)
			}
		})
	}
}
