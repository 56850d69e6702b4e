package managedfields

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func kindOf(text string) schema.GroupKind { return schema.ParseGroupKind(text) }

func updatedBy(manager, fields string) metav1.ManagedFieldsEntry {
	return entry(manager, metav1.ManagedFieldsOperationUpdate, "", fields)
}

// remaining are the fields of an entry that are not tolerated on an object of a kind, of which Daytwo owns own.
func remaining(kind string, tolerance Tolerance, own string, other metav1.ManagedFieldsEntry) string {
	changed := object(entry("daytwo", metav1.ManagedFieldsOperationApply, "", own), other)
	var names []string
	for _, change := range known.Foreign(changed, Subject{Kind: kindOf(kind), Tolerance: tolerance}) {
		names = append(names, Names(change.Fields)...)
	}
	return strings.Join(names, " ")
}

const (
	addedLabel      = `{"f:metadata":{"f:labels":{".":{},"f:example.com/team":{}}}}`
	addedAnnotation = `{"f:metadata":{"f:annotations":{"f:example.com/beat":{}}}}`
	addedFinalizer  = `{"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/a\"":{}}}}`
	addedOwner      = `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"13\"}":{}}}}`
	addedKey        = `{"f:data":{".":{},"f:password":{}}}`
	addedStatus     = `{"f:status":{".":{},"f:phase":{}}}`
	addedSidecar    = sidecarFields
	webhookBundle   = `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`
	ownWebhook      = `{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:clientConfig":{"f:service":{}},"f:failurePolicy":{},"f:name":{}}}}`
)

const ownName = `{"f:metadata":{"f:labels":{"f:daytwo.dev/managed-by":{}}}}`

var people = []string{"kubectl-edit", "kubectl", "KUBECTL-patch", "helm", "k9s", "Mozilla", "HashiCorp", "Terraform", "curl", "argocd-controller", "before-first-apply", "daytwo", "daytwo-00000000", ""}

var programs = []string{"pilot-discovery", "velero-server", "kube-webhook-certgen", "ancient-changes"}

func TestPlacesDecideWhatAProgramMayAdd(t *testing.T) {
	for name, c := range map[string]struct {
		kind, fields string
		stays        bool
	}{
		"status":                          {"Thing.example.com", addedStatus, true},
		"label":                           {"Deployment.apps", addedLabel, true},
		"annotation":                      {"ConfigMap", addedAnnotation, true},
		"finalizer":                       {"Service", addedFinalizer, true},
		"finalizer of a namespace":        {"Namespace", addedFinalizer, true},
		"owner":                           {"Secret", addedOwner, true},
		"key of a Secret":                 {"Secret", addedKey, true},
		"key of a ConfigMap":              {"ConfigMap", `{"f:binaryData":{"f:blob":{}}}`, true},
		"bundle of a webhook":             {"ValidatingWebhookConfiguration.admissionregistration.k8s.io", webhookBundle, true},
		"bundle of a conversion":          {"CustomResourceDefinition.apiextensions.k8s.io", `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}}`, true},
		"bundle of an APIService":         {"APIService.apiregistration.k8s.io", `{"f:spec":{"f:caBundle":{}}}`, true},
		"label of a custom resource":      {"Thing.example.com", addedLabel, true},
		"container":                       {"Deployment.apps", addedSidecar, false},
		"annotation of a pod template":    {"Deployment.apps", `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:example.com/a":{}}}}}}`, false},
		"label of a template in a custom": {"Thing.example.com", `{"f:spec":{"f:podTemplate":{"f:metadata":{"f:labels":{"f:example.com/a":{}}}}}}`, false},
		"container in a custom resource":  {"Thing.example.com", `{"f:spec":{"f:containers":{}}}`, false},
		"spec of a custom resource":       {"Thing.example.com", `{"f:spec":{"f:anything":{}}}`, false},
		"status below spec":               {"Thing.example.com", `{"f:spec":{"f:status":{}}}`, false},
		"data of a custom resource":       {"Thing.example.com", addedKey, false},
		"data of another group":           {"Secret.example.com", addedKey, false},
		"type of a Secret":                {"Secret", `{"f:type":{}}`, false},
		"a Secret made immutable":         {"Secret", `{"f:immutable":{}}`, false},
		"a whole webhook":                 {"ValidatingWebhookConfiguration.admissionregistration.k8s.io", `{"f:webhooks":{"k:{\"name\":\"b\"}":{".":{},"f:clientConfig":{"f:caBundle":{},"f:url":{}},"f:name":{}}}}`, false},
		"bundle of a webhook's neighbour": {"ValidatingWebhookConfiguration.admissionregistration.k8s.io", `{"f:webhooks":{"k:{\"name\":\"b\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`, false},
		"bundle of a custom resource":     {"Issuer.cert-manager.io", `{"f:spec":{"f:caBundle":{}}}`, false},
		"url of a webhook":                {"ValidatingWebhookConfiguration.admissionregistration.k8s.io", `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:url":{}}}}}`, false},
		"label of a Namespace":            {"Namespace", addedLabel, false},
		"annotation of a ServiceAccount":  {"ServiceAccount", addedAnnotation, false},
		"label of a ClusterRole":          {"ClusterRole.rbac.authorization.k8s.io", addedLabel, false},
		"annotation of an Ingress":        {"Ingress.networking.k8s.io", addedAnnotation, false},
		"annotation of a Gateway":         {"Gateway.gateway.networking.k8s.io", addedAnnotation, false},
		"annotation of a mesh's Gateway":  {"Gateway.networking.istio.io", addedAnnotation, false},
		"annotation of a route":           {"HTTPRoute.gateway.networking.k8s.io", addedAnnotation, false},
		"annotation of a Service":         {"Service", addedAnnotation, false},
		"label of a Pod":                  {"Pod", addedLabel, false},
		"aggregation":                     {"ConfigMap", `{"f:metadata":{"f:labels":{"f:rbac.authorization.k8s.io/aggregate-to-admin":{}}}}`, false},
		"default class":                   {"StorageClass.storage.k8s.io", `{"f:metadata":{"f:annotations":{"f:storageclass.kubernetes.io/is-default-class":{}}}}`, false},
		"cloud identity":                  {"ConfigMap", `{"f:metadata":{"f:annotations":{"f:eks.amazonaws.com/role-arn":{}}}}`, false},
		"snippet":                         {"ConfigMap", `{"f:metadata":{"f:annotations":{"f:nginx.org/server-snippets":{}}}}`, false},
		"injection":                       {"Thing.example.com", `{"f:metadata":{"f:labels":{"f:istio-injection":{}}}}`, false},
		"another owner's mark":            {"ConfigMap", `{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}}}`, false},
		"a copy of a Secret":              {"Secret", `{"f:metadata":{"f:annotations":{"f:replicator.v1.mittwald.de/replicate-to":{}}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			own := ownName
			if strings.Contains(c.kind, "Webhook") {
				own = ownWebhook
			}
			tolerance := Tolerance{Additions: RevertPeopleAndSensitive}
			for _, program := range programs {
				rest := remaining(c.kind, tolerance, own, updatedBy(program, c.fields))
				if (rest == "") != c.stays {
					t.Errorf("of what %s adds, %q is taken back", program, rest)
				}
			}
			anybody := strings.HasPrefix(name, "bundle") && c.stays
			for _, person := range people {
				if rest := remaining(c.kind, tolerance, own, updatedBy(person, c.fields)); (rest == "") != anybody {
					t.Errorf("of what %q adds, %q is taken back", person, rest)
				}
			}
			if rest := remaining(c.kind, Tolerance{Additions: RevertAll}, own, updatedBy("velero-server", c.fields)); rest == "" {
				t.Error("All leaves it")
			}
			if rest := remaining(c.kind, Tolerance{Additions: RevertNone}, own, updatedBy("kubectl-edit", c.fields)); rest != "" {
				t.Errorf("None takes %q back", rest)
			}
			if rest := remaining(c.kind, Tolerance{}, own, updatedBy("kube-controller-manager", c.fields)); rest != "" {
				t.Errorf("%q of a known controller is taken back", rest)
			}
		})
	}
}

func TestKeysThatBecomeEnvironmentVariablesAreTakenBack(t *testing.T) {
	tolerance := Tolerance{Additions: RevertPeopleAndSensitive, Environment: true}
	if rest := remaining("Secret", tolerance, ownName, updatedBy("velero-server", addedKey)); rest != ".data.password" {
		t.Errorf("%q is taken back", rest)
	}
	if rest := remaining("Secret", tolerance, ownName, updatedBy("velero-server", addedLabel)); rest != "" {
		t.Errorf("%q is taken back", rest)
	}
}

func TestDeclaredValuesAreTakenBackFromEverybody(t *testing.T) {
	const own = `{"f:metadata":{"f:labels":{"f:app":{}}},"f:data":{"f:password":{}},"f:status":{"f:phase":{}}}`
	for fields, want := range map[string]string{
		`{"f:metadata":{"f:labels":{"f:app":{},"f:example.com/team":{}}}}`: ".metadata.labels.app",
		addedKey:    ".data.password",
		addedStatus: ".status.phase",
	} {
		for _, additions := range []Additions{RevertPeopleAndSensitive, RevertNone} {
			if rest := remaining("Secret", Tolerance{Additions: additions}, own, updatedBy("velero-server", fields)); rest != want {
				t.Errorf("%q is taken back, want %q", rest, want)
			}
		}
	}
	// Ours has shrunk: only the manifest tells.
	taken := object(entry("daytwo", metav1.ManagedFieldsOperationApply, "", ownName), updatedBy("velero-server", addedKey))
	subject := Subject{Kind: kindOf("Secret"), Tolerance: Tolerance{Additions: RevertNone}, Declared: map[string]any{"data": map[string]any{"password": ""}}}
	if changes := known.Foreign(taken, subject); len(changes) != 1 {
		t.Errorf("got %v", changes)
	}
}

func TestIgnoringAFieldOfItemsLeavesNoAddedItem(t *testing.T) {
	tolerance := Tolerance{Ignored: Ignored{"/spec/template/spec/containers/0/image"}}
	rest := remaining("Deployment.apps", tolerance, ownFields, edited(sidecarFields))
	if !strings.Contains(rest, `containers[name="sidecar"].image`) {
		t.Errorf("only %q is taken back", rest)
	}
	tolerance.Ignored = Ignored{"/spec/template/spec/containers"}
	if rest := remaining("Deployment.apps", tolerance, ownFields, edited(sidecarFields)); rest != "" {
		t.Errorf("%q is taken back", rest)
	}
}

func TestOnlyWhatIsNotToleratedOfAnEntryIsTakenOver(t *testing.T) {
	mixed := updatedBy("mesh", `{"f:metadata":{"f:annotations":{".":{},"f:example.com/a":{},"f:x.kubernetes.io/b":{}},"f:finalizers":{".":{},"v:\"mesh/a\"":{}}},"f:spec":{"f:paused":{}}}`)
	before := object(ours(), mixed)
	before.Finalizers = []string{"mesh/a"}
	subject := Subject{Kind: kindOf("Deployment.apps"), Tolerance: Tolerance{Additions: RevertPeopleAndSensitive}}
	after, err := takeOverAs(t, before, before, subject)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"f:metadata":{"f:annotations":{".":{},"f:example.com/a":{}},"f:finalizers":{".":{},"v:\"mesh/a\"":{}}}}`; after.ManagedFields[1].FieldsV1.GetRawString() != want {
		t.Errorf("they own %s, want %s", after.ManagedFields[1].FieldsV1.GetRawString(), want)
	}
	if own := after.ManagedFields[0].FieldsV1.GetRawString(); !strings.Contains(own, "f:x.kubernetes.io/b") || !strings.Contains(own, "f:paused") || strings.Contains(own, "example.com/a") {
		t.Errorf("Daytwo owns %s", own)
	}
	if !slices.Equal(after.Finalizers, []string{"mesh/a"}) {
		t.Errorf("finalizers are %v", after.Finalizers)
	}
}

func TestAPersonsTakeoverLeavesAProgramsFinalizer(t *testing.T) {
	before := object(ours(), updatedBy("kubectl-edit", `{"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}}}}`), updatedBy("mesh", `{"f:metadata":{"f:finalizers":{"v:\"b\"":{}}}}`))
	before.Finalizers = []string{"a", "b"}
	after, err := takeOverAs(t, before, before, Subject{Tolerance: Tolerance{Additions: RevertPeopleAndSensitive}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(after.Finalizers, []string{"b"}) {
		t.Errorf("finalizers are %v", after.Finalizers)
	}
}

func TestWhatIsToleratedIsNotInTheFingerprint(t *testing.T) {
	subject := Subject{Kind: kindOf("Deployment.apps"), Tolerance: Tolerance{Additions: RevertPeopleAndSensitive}}
	later := metav1.NewTime(applied.Add(60e9))
	beat := updatedBy("mesh", addedAnnotation)
	beat.Time = &later
	want := known.Assess(object(ours()), subject)
	got := known.Assess(object(ours(), beat), subject)
	if got.Fingerprint != want.Fingerprint || got.Untouched != want.Untouched {
		t.Error("a program's heartbeat changes the fingerprint")
	}
	if !slices.Equal(got.Tolerated, []string{"mesh"}) {
		t.Errorf("tolerated are %v", got.Tolerated)
	}
	both := updatedBy("mesh", `{"f:metadata":{"f:annotations":{"f:example.com/beat":{}}},"f:spec":{"f:paused":{}}}`)
	first := known.Assess(object(ours(), both), subject)
	both.Time = &later
	second := known.Assess(object(ours(), both), subject)
	if first.Fingerprint == want.Fingerprint || first.Fingerprint != second.Fingerprint || first.Untouched != want.Untouched {
		t.Errorf("got %+v and %+v beside %+v", first, second, want)
	}
}

func TestRulesHaveAVersion(t *testing.T) {
	settings := []any{RevertAll}
	if known.Version(settings) != known.Version([]any{RevertAll}) {
		t.Error("the version is not stable")
	}
	base := NewControllers("daytwo", DefaultControllers()...)
	seen := map[string]string{known.Version(settings): "as it is"}
	for name, version := range map[string]string{
		"settings":    known.Version([]any{RevertNone}),
		"controllers": NewRules(NewControllers("daytwo"), DefaultTools(), DefaultCatalog()).Version(settings),
		"tools":       NewRules(base, nil, DefaultCatalog()).Version(settings),
		"catalog":     NewRules(base, DefaultTools(), nil).Version(settings),
	} {
		if other, again := seen[version]; again {
			t.Errorf("%s and %s have one version", name, other)
		}
		seen[version] = name
	}
}

func TestAnAnnotationThatRestartsPodsIsLeftAndNothingElseOfItsManager(t *testing.T) {
	const annotation = `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:reload.certificates.daytwo.dev/00112233":{}}}}}}`
	as := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return entry(manager, operation, "", fields)
	}
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for name, test := range map[string]struct {
		kind  string
		entry metav1.ManagedFieldsEntry
		left  bool
	}{
		"of this installation":    {"Deployment.apps", as("daytwo-reload-00112233", apply, annotation), true},
		"of another installation": {"StatefulSet.apps", as("daytwo-0badcafe-reload-00112233", apply, annotation), true},
		"of a DaemonSet":          {"DaemonSet.apps", as("daytwo-0badcafe-reload-00112233", apply, annotation), true},
		"of a person":             {"Deployment.apps", as("kubectl-edit", update, annotation), false},
		"by another operation":    {"Deployment.apps", as("daytwo-0badcafe-reload-00112233", update, annotation), false},
		"of another kind":         {"Job.batch", as("daytwo-0badcafe-reload-00112233", apply, annotation), false},
		"another annotation":      {"Deployment.apps", as("daytwo-0badcafe-reload-00112233", apply, strings.ReplaceAll(annotation, "reload.cert", "sidecar.cert")), false},
		"an image":                {"Deployment.apps", as("daytwo-0badcafe-reload-00112233", apply, sidecarFields), false},
	} {
		for _, additions := range []Additions{RevertAll, RevertPeopleAndSensitive} {
			rest := remaining(test.kind, Tolerance{Additions: additions}, ownFields, test.entry)
			if (rest == "") != test.left {
				t.Errorf("%s, with %q: %q is taken back", name, additions, rest)
			}
		}
	}
}
