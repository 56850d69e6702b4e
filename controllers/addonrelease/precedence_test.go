package addonrelease

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

const (
	customersShared = `
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, annotations: {customers: "1"}}
data: {key: customers, extra: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
data: {key: value}
`
	providersShared = `
apiVersion: v1
kind: ConfigMap
metadata: {name: shared}
data: {key: providers}
`
)

// startOf starts an add-on in a namespace of the management cluster.
func startOf(t *testing.T, home, namespace, text string, change ...func(*addonsv1alpha1.AddonReleaseSpec)) *addon {
	t.Helper()
	a := declareAddonOf(t, home, namespace)
	a.start(a.revision(text), change...)
	return a
}

// holds waits until the shared object is as one of the add-ons declares it.
func (a *addon) holds(name string, data map[string]string) *corev1.ConfigMap {
	a.t.Helper()
	found := a.configMap(name)
	eventually(a.t, fmt.Sprintf("%s holds %v", name, data), func() (bool, string) {
		err := a.fetch(found)
		return err == nil && maps.Equal(found.Data, data), fmt.Sprint(err, found.Data, describeConditions(a.get()))
	})
	return found
}

// isTold waits until the release tells of the conflict, and checks that it names the owner and that the inventory has no such object.
func (a *addon) isTold(owner string) {
	a.t.Helper()
	release := a.waitFor(metav1alpha1.ConditionStalled, metav1.ConditionTrue, metav1alpha1.ReasonConflict)
	if message := messageOf(release); !strings.Contains(message, "shared belongs to "+owner+";") {
		a.t.Errorf("the message does not say whose it is, %s: %s", owner, message)
	}
	if a.lists("shared") {
		a.t.Errorf("the inventory lists it all the same: %+v", release.Status.Inventory)
	}
}

func (a *addon) lists(name string) bool {
	for _, entry := range a.get().Status.Inventory {
		if strings.HasSuffix(entry.ID, "/"+name) {
			return true
		}
	}
	return false
}

func (a *addon) uidOf(object client.Object) types.UID {
	a.t.Helper()
	if err := a.fetch(object); err != nil {
		a.t.Fatal(err)
	}
	return object.GetUID()
}

func TestTheProvidersAddonWinsWhatACustomersDeclaresToo(t *testing.T) {
	t.Parallel()
	theirs := newAddon(t, customersShared)
	theirs.waitReady()
	before := theirs.uidOf(theirs.configMap("shared"))
	providers := startOf(t, provider, theirs.namespace, providersShared)
	providers.waitReady()
	found := providers.holds("shared", map[string]string{"key": "providers"})
	if found.UID != before {
		t.Error("it was deleted and made anew")
	}
	if _, kept := found.Annotations["customers"]; kept {
		t.Error("what only the customer's declares stays")
	}
	theirs.isTold("the provider's SaaSAddon " + providers.name)
	theirs.holds("own", map[string]string{"key": "value"})

	drifted := found.DeepCopy()
	drifted.Data["key"] = "customers"
	if err := shared.workload.Patch(t.Context(), drifted, client.MergeFrom(found), client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	providers.holds("shared", map[string]string{"key": "providers"})

	// A stalled release looks again after minutes: that it comes back is because it was told.
	providers.end()
	theirs.waitReady()
	theirs.holds("shared", map[string]string{"key": "customers", "extra": "1"})
}

func TestASuspendedCustomersAddonGivesWayToo(t *testing.T) {
	t.Parallel()
	for name, suspendedFirst := range map[string]bool{"WhatItApplied": false, "WhatItIsToApply": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs := newAddon(t, customersShared, func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Suspend = suspendedFirst })
			if suspendedFirst {
				theirs.waitFor(metav1alpha1.ConditionApplied, metav1.ConditionFalse, metav1alpha1.ReasonSuspended)
			} else {
				theirs.waitReady()
				theirs.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = true })
				eventually(t, "the customer's is suspended", func() (bool, string) {
					release := theirs.get()
					return strings.HasPrefix(messageOf(release), "suspended"), describeConditions(release)
				})
			}
			providers := startOf(t, provider, theirs.namespace, providersShared)
			providers.waitReady()
			providers.holds("shared", map[string]string{"key": "providers"})
			if !suspendedFirst { // Otherwise it had nothing to give, and is told when it goes on.
				theirs.isTold("the provider's SaaSAddon " + providers.name)
			}
			theirs.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
			theirs.isTold("the provider's SaaSAddon " + providers.name)
			providers.holds("shared", map[string]string{"key": "providers"})
		})
	}
}

func TestASuspendedAddonOfTheProviderTakesNothing(t *testing.T) {
	t.Parallel()
	theirs := newAddon(t, customersShared)
	theirs.waitReady()
	providers := startOf(t, provider, theirs.namespace, providersShared, func(spec *addonsv1alpha1.AddonReleaseSpec) { spec.Suspend = true })
	eventually(t, "the provider's tells of the conflict", func() (bool, string) {
		release := providers.get()
		found := meta.FindStatusCondition(release.Status.Conditions, metav1alpha1.ConditionStalled)
		return found != nil && found.Reason == metav1alpha1.ReasonConflict, describeConditions(release)
	})
	if !theirs.lists("shared") {
		t.Error("the customer's release gave the object up to a suspended one")
	}
	providers.change(func(release *addonsv1alpha1.AddonRelease) { release.Spec.Suspend = false })
	providers.waitReady()
	providers.holds("shared", map[string]string{"key": "providers"})
}

func TestADeletedCustomersAddonLeavesWhatTheProvidersDemands(t *testing.T) {
	t.Parallel()
	const group = "yielded.example.com"
	theirs := newAddon(t, fmt.Sprintf(operatorAddon, group))
	theirs.waitReady()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: theirs.namespace, Name: "operator"}}
	before := theirs.uidOf(account)
	theirs.delete()
	theirs.says("waiting for Widget " + theirs.namespace + "/one to be gone: finalizer " + group + "/cleanup")
	providers := startOf(t, provider, theirs.namespace, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: operator, labels: {owner: provider}}\n")
	providers.waitReady()
	theirs.finalize(theirs.widget(group))
	theirs.waitReleased()
	if now := providers.uidOf(account); now != before || account.DeletionTimestamp != nil || account.Labels["owner"] != "provider" {
		t.Errorf("it is %s, deleted %v, with labels %v; it was %s", now, account.DeletionTimestamp, account.Labels, before)
	}
	providers.waitReady()
}

// What the customer's add-on set says nothing of whose the object is once it is the provider's.
func TestMarksThatACustomersAddonDeclaresDoNotKeepTheProvidersOut(t *testing.T) {
	t.Parallel()
	theirs := newAddon(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: shared, annotations: {meta.helm.sh/release-name: valkey, meta.helm.sh/release-namespace: cache}, labels: {app.kubernetes.io/managed-by: Helm}}
data: {key: customers}
`)
	theirs.waitReady()
	object := theirs.configMap("shared")
	object.APIVersion, object.Kind, object.Data = "v1", "ConfigMap", map[string]string{"scaled": "5"}
	if err := shared.workload.Patch(t.Context(), object, client.Apply, client.FieldOwner("scaler")); err != nil { //nolint:staticcheck // Typed.
		t.Fatal(err)
	}
	providers := startOf(t, provider, theirs.namespace, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {key: providers, scaled: \"1\"}\n")
	providers.waitReady()
	providers.holds("shared", map[string]string{"key": "providers", "scaled": "1"})
}

func TestOfTwoWithTheSameRankTheFirstKeepsAnObjectUntilItEnds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, first, second, told string }{
		{"TwoOfACustomer", customers, customers, "SaaSAddon " + customers + "/"},
		{"TwoOfTheProvider", provider, provider, "SaaSAddon " + provider + "/"},
		{"TheProvidersIsFirst", provider, customers, "the provider's SaaSAddon "},
		{"TwoCustomers", customers, "globex", "another customer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			first := startOf(t, row.first, "", providersShared)
			first.waitReady()
			told := row.told
			if told != "another customer" {
				told += first.name
			}
			t.Run("Second", func(t *testing.T) {
				if row.second == "globex" {
					if err := shared.management.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: row.second}}); err != nil {
						t.Fatal(err)
					}
				}
				second := startOf(t, row.second, first.namespace, customersShared)
				second.isTold(told)
				first.holds("shared", map[string]string{"key": "providers"})
				first.waitReady()
				first.end()
				second.waitReady()
				second.holds("shared", map[string]string{"key": "customers", "extra": "1"})
			})
		})
	}
}
