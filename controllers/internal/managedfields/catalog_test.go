package managedfields

import (
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEveryRowOfTheCatalog has a row for each exception: what it lets stay, and what the same manager may not.
func TestEveryRowOfTheCatalog(t *testing.T) {
	const restarted = `"f:template":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}`
	rows := map[string]struct {
		kind, own  string
		operation  metav1.ManagedFieldsOperationType
		stays      string
		takenBack  string
		otherwise  string // The same field where the row does not hold.
		otherKind  string
		otherOwner string
	}{
		"pilot-discovery": {
			"ValidatingWebhookConfiguration.admissionregistration.k8s.io", ownWebhook, metav1.ManagedFieldsOperationUpdate,
			`{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:failurePolicy":{}}}}`,
			`{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:rules":{}}}}`,
			`{"f:webhooks":{"k:{\"name\":\"b\"}":{".":{},"f:failurePolicy":{},"f:name":{}}}}`,
			"MutatingWebhookConfiguration.admissionregistration.k8s.io", "mesh",
		},
		"clusterrole-aggregation-controller": {
			"ClusterRole.rbac.authorization.k8s.io", `{"f:aggregationRule":{"f:clusterRoleSelectors":{}}}`, metav1.ManagedFieldsOperationApply,
			`{"f:rules":{}}`, `{"f:metadata":{"f:labels":{"f:a":{}}}}`, `{"f:rules":{},"f:metadata":{"f:labels":{"f:a":{}}}}`,
			"Role.rbac.authorization.k8s.io", "kubectl-edit",
		},
		"kubectl-rollout": {
			"Deployment.apps", ownName, metav1.ManagedFieldsOperationUpdate,
			`{"f:spec":{` + restarted + `}}`, `{"f:spec":{"f:paused":{}}}`, `{"f:spec":{"f:paused":{},` + restarted + `}}`,
			"Job.batch", "kubectl-edit",
		},
		"velero-server": {
			"Schedule.velero.io", `{"f:spec":{"f:schedule":{}}}`, metav1.ManagedFieldsOperationUpdate,
			`{"f:spec":{"f:skipImmediately":{}}}`, `{"f:spec":{"f:paused":{}}}`, `{"f:spec":{"f:paused":{},"f:skipImmediately":{}}}`,
			"Backup.velero.io", "kubectl-edit",
		},
	}
	for _, exception := range DefaultCatalog() {
		row, ok := rows[exception.Manager]
		if !ok {
			t.Errorf("no test of the row of %s", exception.Manager)
			continue
		}
		t.Run(exception.Manager, func(t *testing.T) {
			for _, additions := range []Additions{RevertAll, RevertPeopleAndSensitive, RevertNone} {
				if rest := remaining(row.kind, Tolerance{Additions: additions}, row.own, entry(exception.Manager, row.operation, "", row.stays)); rest != "" {
					t.Errorf("%q is taken back", rest)
				}
			}
			strict := Tolerance{Additions: RevertPeopleAndSensitive}
			for what, rest := range map[string]string{
				"another field":     remaining(row.kind, strict, row.own, entry(exception.Manager, row.operation, "", row.takenBack)),
				"a field beside it": remaining(row.kind, strict, row.own, entry(exception.Manager, row.operation, "", row.otherwise)),
				"another kind":      remaining(row.otherKind, strict, row.own, entry(exception.Manager, row.operation, "", row.stays)),
				"another manager":   remaining(row.kind, strict, row.own, entry(row.otherOwner, row.operation, "", row.stays)),
			} {
				if rest == "" {
					t.Errorf("%s stays", what)
				}
			}
		})
	}
}

func TestAggregatedRulesStayOnlyBesideAnAggregationRule(t *testing.T) {
	rules := entry("clusterrole-aggregation-controller", metav1.ManagedFieldsOperationApply, "", `{"f:rules":{}}`)
	if rest := remaining("ClusterRole.rbac.authorization.k8s.io", Tolerance{}, ownName, rules); rest != ".rules" {
		t.Errorf("%q is taken back of a role without aggregation", rest)
	}
	rules.Operation = metav1.ManagedFieldsOperationUpdate
	if rest := remaining("ClusterRole.rbac.authorization.k8s.io", Tolerance{}, `{"f:aggregationRule":{}}`, rules); rest != ".rules" {
		t.Errorf("%q is taken back of an update under that name", rest)
	}
}

func TestDeclaredFieldsOfTheCatalogAreRelinquishedOnceTheirProgramTookThem(t *testing.T) {
	declared := map[string]any{"webhooks": []any{
		map[string]any{"name": "other", "failurePolicy": "Ignore"}, map[string]any{"name": "a", "failurePolicy": "Ignore"},
	}}
	const shrunk = `{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"other\"}":{".":{},"f:name":{},"f:failurePolicy":{}}}}`
	taken := updatedBy("pilot-discovery", `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:failurePolicy":{}}}}`)
	subject := Subject{Kind: kindOf("ValidatingWebhookConfiguration.admissionregistration.k8s.io"), Declared: declared}
	for name, c := range map[string]struct {
		own  string
		want []string
	}{
		"taken":      {shrunk, []string{"/webhooks/1/failurePolicy"}},
		"still ours": {`{"f:webhooks":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:failurePolicy":{}}}}`, nil},
	} {
		got, err := known.Relinquished(object(entry("daytwo", "Apply", "", c.own), taken), subject)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestACatalogIsReadStrictly(t *testing.T) {
	const good = "exceptions: [{manager: a, kinds: [ConfigMap], fields: [/data], why: it does}]"
	if catalog, err := ParseCatalog([]byte(good)); err != nil || len(catalog) != 1 {
		t.Fatalf("got %v, %v", catalog, err)
	}
	for change, want := range map[string]string{
		"manager: a>":                                 "manager is missing",
		"manager: a>manager: a*":                      "no wildcards",
		"kinds: [ConfigMap]>":                         "kinds are missing",
		"fields: [/data]>":                            "fields are missing",
		"fields: [/data]>fields: [data]":              "no JSON pointer",
		"fields: [/data]>fields: [/]":                 "no JSON pointer",
		"why: it does>":                               "why is missing",
		"why: it does>why: it does, operation: Patch": "use Update or Apply",
		"why: it does>why: it does, mangaer: b":       `unknown field "mangaer"`,
		"exceptions:>rules:":                          `unknown field "rules"`,
	} {
		old, new, _ := strings.Cut(change, ">")
		text := strings.ReplaceAll(strings.Replace(good, old, new, 1), ", ,", ",")
		_, err := ParseCatalog([]byte(strings.ReplaceAll(strings.ReplaceAll(text, "{,", "{"), ", }", "}")))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", change, err, want)
		}
	}
	if _, err := ParseCatalog(make([]byte, maxCatalog+1)); err == nil {
		t.Error("a catalog of any size is read")
	}
	if _, err := ParseCatalog([]byte("exceptions: [" + strings.Repeat("{manager: a},", maxExceptions+1) + "]")); err == nil || !strings.Contains(err.Error(), "rows") {
		t.Errorf("got %v", err)
	}
}

func TestTheBuiltInCatalogIsTheFileInConfig(t *testing.T) {
	text, err := os.ReadFile("../../../config/drift/exceptions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := ParseCatalog(text)
	if err != nil || len(catalog) == 0 || len(catalog) != len(DefaultCatalog()) {
		t.Errorf("got %d rows, %v", len(catalog), err)
	}
}
