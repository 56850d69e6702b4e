package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/e2e/charts"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
)

// secretOf is a template of a Secret with an expression as its password.
func secretOf(name, expression string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ndata:\n  password: %s\n", name, expression)
}

// leakyCharts would tell the value password, each in another way.
var leakyCharts = map[string]struct {
	files  chartFiles
	reason string
	// says is what has to be told all the same.
	says string
}{
	"of-a-pattern":  {schemaOf(`{"password": {"type": "string", "pattern": "^[0-9]$"}}`), addonsv1alpha1.ReasonValuesInvalid, "password"},
	"of-a-list":     {schemaOf(`{"password": {"enum": ["one", "two"]}}`), addonsv1alpha1.ReasonValuesInvalid, "password"},
	"of-a-type":     {schemaOf(`{"password": {"type": "integer"}}`), addonsv1alpha1.ReasonValuesInvalid, "password"},
	"of-no-key":     {schemaOf(`{"user": {}}, "additionalProperties": false`), addonsv1alpha1.ReasonValuesInvalid, "password"},
	"fails":         {leak(`{{ fail (printf "never use %s here" .Values.password) }}`), addonsv1alpha1.ReasonRenderFailed, "never use"},
	"fails-encoded": {leak(`{{ fail (printf "never use %s here" (b64enc .Values.password)) }}`), addonsv1alpha1.ReasonRenderFailed, "never use"},
	"requires":      {leak(`{{ required (printf "more than %s" .Values.password) .Values.more }}`), addonsv1alpha1.ReasonRenderFailed, "more than"},
	"includes":      {leak(`{{ include .Values.password . }}`), addonsv1alpha1.ReasonRenderFailed, "templates/leak.yaml"},
	"executes":      {leak(`{{ tpl (printf "{{ nothing %q }}" .Values.password) . }}`), addonsv1alpha1.ReasonRenderFailed, "templates/leak.yaml"},
	"counts":        {leak(`{{ index (list 1) .Values.password }}`), addonsv1alpha1.ReasonRenderFailed, "templates/leak.yaml"},
	"decodes":       {leak(`{{ mustFromJson .Values.password }}`), addonsv1alpha1.ReasonRenderFailed, "templates/leak.yaml"},
	"misindented":   {leak("password: {{ .Values.password }}\n  next: [{{ .Values.password }}"), addonsv1alpha1.ReasonInvalidManifest, "templates/leak.yaml"},
	"no-base64":     {leak(secretOf("no-base64", `{{ .Values.password | quote }}`)), "", "no-base64"},
	"no-such-field": {leak(secretOf("no-such-field", `{{ .Values.password | b64enc }}`) + "extra: {{ .Values.password }}\n"), "", "no-such-field"},
	"of-a-kind":     {leak(secretOf("of-a-kind", `{{ .Values.password | b64enc }}`) + "type: kubernetes.io/tls\n"), "", "of-a-kind"},
}

func leak(template string) chartFiles { return chartFiles{"templates/leak.yaml": template} }

func schemaOf(properties string) chartFiles {
	return chartFiles{"values.schema.json": `{"type": "object", "properties": ` + properties + `}`}
}

func TestSecretsOfChartsNeverShow(t *testing.T) {
	t.Parallel()
	c := newCustomer(t, 0, 1)
	cluster := c.clusters.bare[0]
	archives := [][]byte{smallChart("vault", chartFiles{
		"templates/given.yaml":     secretOf("given", `{{ .Values.password | b64enc }}`),
		"templates/generated.yaml": secretOf("generated", `{{ randAlphaNum 24 | b64enc }}`),
	}).packed(t)}
	for name, leaky := range leakyCharts {
		archives = append(archives, smallChart(name, leaky.files).packed(t))
	}
	served := c.startRegistry(archives...)
	c.createSecret("passwords", corev1.SecretTypeOpaque, map[string]string{"values.yaml": "password: " + canary + "\n"})

	vault := c.newChartAddon("vault", served.OCI(), "vault", charts.FirstVersion)
	vault.Spec.ValuesFrom = valuesFromSecret("passwords")
	c.create(vault)
	c.awaitReady(vault)
	generated := c.takesBackSecrets(vault, cluster)
	for name := range leakyCharts {
		addon := c.newChartAddon(name, served.HTTPS(), name, charts.FirstVersion)
		addon.Spec.ValuesFrom = valuesFromSecret("passwords")
		c.create(addon)
	}
	for name, leaky := range leakyCharts {
		c.awaitToldOf(c.newAddon(name, ""), cluster, leaky.reason, leaky.says)
	}
	c.createBadValues(served.OCI())
	basic := base64.StdEncoding.EncodeToString([]byte(registryUser + ":" + registryPassword))
	c.expectUnseen(canary, registryPassword, basic, generated)
	c.expectUnseenElsewhere(canary, registryPassword, basic, generated)
}

// awaitToldOf waits until a release says what is wrong with it, and not only that it is not done. Values that are good for no cluster
// are told on the add-on, which has no release.
func (c *customer) awaitToldOf(addon *addonsv1alpha1.SaaSAddon, cluster, reason, words string) {
	c.Helper()
	if reason == addonsv1alpha1.ReasonValuesInvalid {
		c.awaitAddonCondition(addon, metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonContentInvalid, words)
		return
	}
	c.awaitRelease(addon, cluster, "it is told", func(release *addonsv1alpha1.AddonRelease) error {
		if err := expect.Condition(release.Status.Conditions, metav1alpha1.ConditionReady, metav1.ConditionFalse, reason); err != nil {
			return err
		}
		return says(message(release.Status.Conditions, metav1alpha1.ConditionReady), words)
	})
}

// takesBackSecrets edits what the chart made, and returns the password that it generated.
func (c *customer) takesBackSecrets(addon *addonsv1alpha1.SaaSAddon, cluster string) string {
	c.Helper()
	password := ""
	for _, name := range []string{"given", "generated"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		edit(c, c.workload(cluster), secret, func(s *corev1.Secret) {
			password = string(s.Data["password"])
			s.Data["password"] = []byte(canary + "-edited")
		})
	}
	if len(password) != 24 {
		c.Fatalf("the generated password has %d characters", len(password))
	}
	c.awaitRelease(addon, cluster, "both edits are told", func(release *addonsv1alpha1.AddonRelease) error {
		told := fmt.Sprint(release.Status.Drift.Corrections)
		return says(told, "v1/Secret/default/given", "v1/Secret/default/generated", ".data.password", "kubectl-edit")
	})
	return password
}

// createBadValues makes add-ons that fail before their chart is rendered: by the values, and by the
// password for the registry.
func (c *customer) createBadValues(repository string) {
	c.Helper()
	cluster := c.clusters.bare[0]
	for name, text := range map[string]string{
		"no-yaml": "password: [" + canary, "no-mapping": canary, "an-alias": "password: *" + canary,
		"a-failing-value": "password: '{{ fail \"" + canary + "\" }}'", "an-unknown-key": "password: '{{ .Unknown }} " + canary + "'",
	} {
		c.createSecret(name, corev1.SecretTypeOpaque, map[string]string{"values.yaml": text})
		addon := c.newChartAddon(name, repository, "vault", charts.FirstVersion)
		addon.Spec.Source.Chart.ReleaseName = name
		addon.Spec.ValuesFrom = valuesFromSecret(name)
		c.create(addon)
		c.awaitToldOf(addon, cluster, addonsv1alpha1.ReasonValuesInvalid, "secret/"+name+"/values.yaml")
	}
	c.createSecret("wrong", corev1.SecretTypeBasicAuth, map[string]string{"username": registryUser, "password": canary + "-wrong"})
	denied := c.newChartAddon("denied", repository, "vault", charts.FirstVersion)
	denied.Spec.Source.Chart.SecretRef.Name = "wrong"
	c.create(denied)
	c.awaitAddonCondition(denied, metav1alpha1.ConditionStalled, metav1.ConditionTrue, "AccessDenied", "vault")
}

// expectUnseenElsewhere looks through all objects of the customer's namespace, and of Secrets, which hold
// what is secret, at their metadata.
func (c *customer) expectUnseenElsewhere(words ...string) {
	c.Helper()
	resources, err := listable(env.Fleet.Management().Config())
	must(c, err)
	lister, err := dynamic.NewForConfig(env.Fleet.Management().Config())
	must(c, err)
	looked := 0
	for _, resource := range resources {
		list, err := lister.Resource(resource).Namespace(c.namespace).List(context.Background(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue // It has no namespace.
		}
		must(c, err)
		for i := range list.Items {
			content := list.Items[i].Object
			if resource.Resource == "secrets" {
				content = map[string]any{"metadata": content["metadata"]}
			}
			text, err := json.Marshal(content)
			must(c, err)
			c.expectNone(resource.Resource+" "+list.Items[i].GetName(), string(text), words...)
			looked++
		}
	}
	if want := 3 * len(leakyCharts); looked < want { // An add-on, a target and a revision of each.
		c.Errorf("only %d objects were looked at, and there are %d at least", looked, want)
	}
}

// expectNone looks for words in a text, as they are and as base64.
func (c *customer) expectNone(where, text string, words ...string) {
	c.Helper()
	for _, word := range words {
		for _, form := range []string{word, base64.StdEncoding.EncodeToString([]byte(word))} {
			if at := strings.Index(text, form); at >= 0 {
				c.Errorf("%s tells a secret: …%s…", where, text[max(0, at-300):min(len(text), at+100)])
			}
		}
	}
}
