// Package admission_test tries the admission policies against a real API server.
package admission_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daytwo-dev/daytwo/apis"
	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
	"github.com/daytwo-dev/daytwo/tools/local/expect"
	"github.com/daytwo-dev/daytwo/tools/local/fixture"
	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
)

// Users of the tests.
const (
	admin    = ""
	manager  = "system:serviceaccount:daytwo-system:daytwo-controller-manager"
	provider = "operator@provider"
	customer = "dev@acme"
	// powerful may write everything that the policies look at, and has none of the special verbs.
	powerful            = "powerful@acme"
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"

	namespace = "acme"
)

var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(fixture.Main(m, 0, func(ctx context.Context, dir string) (end func() error, err error) {
		bare := localfleet.Options{ClusterOptions: localfleet.ClusterOptions{Bare: true}}
		servers, err := fixture.StartFleet(ctx, dir, bare, "../manager/namespace.yaml", "../crd/bases",
			"../rbac/role.yaml", "../rbac/cluster_api.yaml", "../rbac/customer_role.yaml", "../rbac/provider_role.yaml",
			"cluster_api_secrets.yaml", "deletion_protection.yaml", "manager_namespaces.yaml", "manager_only.yaml", "manager_secrets.yaml", "provider_only.yaml", "recovery.yaml")
		if err != nil {
			return nil, err
		}
		config = servers.Management().Config()
		return servers.Close, install(ctx)
	}))
}

func install(ctx context.Context) error {
	direct, err := as(admin)
	if err != nil {
		return err
	}
	if err := direct.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	holding := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: holdingClusters, Labels: map[string]string{metav1alpha1.LabelHoldsClusters: "true"}}}
	if err := direct.Create(ctx, holding); err != nil {
		return err
	}
	if err := bindRoles(ctx, direct); err != nil {
		return err
	}
	return waitEnforced(ctx, direct)
}

func bindRoles(ctx context.Context, direct client.Client) error {
	writer := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "powerful"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"", "addons.daytwo.dev", "backup.daytwo.dev", "certificates.daytwo.dev", "tenancy.daytwo.dev"},
		Resources: []string{"namespaces", "secrets", "addonreleases", "addonreleases/status", "backupenrollments", "certificatedeliveries", "laters", "tenantclusters", "tenantclusters/status", "orphanrecords"},
		Verbs:     []string{"get", "create", "update", "patch", "delete"},
	}}}
	if err := direct.Create(ctx, writer); err != nil {
		return err
	}
	for user, role := range map[string]string{
		manager: "daytwo-manager", provider: "daytwo-provider", powerful: "powerful",
		namespaceController: "powerful", garbageCollector: "powerful", clusterAPI: "powerful",
	} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Subjects: subject(user),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
		if err := direct.Create(ctx, binding); err != nil {
			return err
		}
	}
	return direct.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "customer", Namespace: namespace}, Subjects: subject(customer),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "daytwo-customer"},
	})
}

func subject(user string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
}

// waitEnforced waits until the API server has taken the policies up: each of them refuses something.
func waitEnforced(ctx context.Context, direct client.Client) error {
	other, err := as(powerful)
	if err != nil {
		return err
	}
	itself, err := as(manager)
	if err != nil {
		return err
	}
	protected := tenantCluster("enforced")
	protected.Spec.DeletionProtection = true
	if err := direct.Create(ctx, protected); err != nil {
		return err
	}
	labelled := tenantCluster("labelled")
	labelled.Labels = map[string]string{metav1alpha1.ProviderLabelPrefix + "tier": "gold"}
	return expect.Await(ctx, "the policies are enforced", func(ctx context.Context) error {
		for _, err := range []error{
			direct.Delete(ctx, protected, client.DryRunAll),
			other.Create(ctx, labelled.DeepCopy(), client.DryRunAll),
			other.Create(ctx, target("enforced"), client.DryRunAll),
			other.Create(ctx, revision("enforced"), client.DryRunAll),
			other.Create(ctx, renewedToken("enforced"), client.DryRunAll),
			other.Create(ctx, orphanRecord("enforced"), client.DryRunAll),
			direct.Create(ctx, recoveryBy("nobody"), client.DryRunAll),
			itself.Create(ctx, secretOfType("enforced", corev1.SecretTypeOpaque), client.DryRunAll),
			itself.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "enforced"}}, client.DryRunAll),
			itself.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "enforced"}}, client.DryRunAll),
			other.Create(ctx, secretIn(holdingClusters, "enforced-kubeconfig"), client.DryRunAll),
		} {
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("the answer is: %w", err)
			}
		}
		return nil
	})
}

func as(user string) (client.Client, error) {
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate.UserName = user
	scheme := apis.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(impersonating, client.Options{Scheme: scheme})
}

func tenantCluster(name string) *tenancyv1alpha1.TenantCluster {
	return &tenancyv1alpha1.TenantCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       tenancyv1alpha1.TenantClusterSpec{KubeconfigRef: &tenancyv1alpha1.KubeconfigReference{Name: name, Key: "value"}},
	}
}

func target(name string) *addonsv1alpha1.AddonRelease {
	return &addonsv1alpha1.AddonRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{metav1alpha1.FinalizerTarget}, Labels: map[string]string{metav1alpha1.LabelCluster: "prod"}},
		Spec:       addonsv1alpha1.AddonReleaseSpec{TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: namespace, Name: "prod"}, Revision: "r1"}},
	}
}

func addon(name string) *addonsv1alpha1.SaaSAddon {
	return &addonsv1alpha1.SaaSAddon{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: addonsv1alpha1.SaaSAddonSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}},
			Source:     addonsv1alpha1.AddonSource{Manifests: &addonsv1alpha1.ManifestSource{Inline: "one"}},
		},
	}
}

func revision(name string) *corev1.Secret {
	immutable := true
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: "daytwo.dev/revision", Immutable: &immutable}
}

func renewedToken(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{metav1.FinalizerDeleteDependents}},
		Type:       tenancyv1alpha1.SecretTypeRenewedToken, Data: map[string][]byte{"token": []byte("theirs")},
	}
}

func orphanRecord(name string) *tenancyv1alpha1.OrphanRecord {
	return &tenancyv1alpha1.OrphanRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{metav1.FinalizerDeleteDependents}},
		Spec: tenancyv1alpha1.OrphanRecordSpec{
			ClusterName: "prod", Reason: tenancyv1alpha1.OrphanUnreachable,
			Owner: tenancyv1alpha1.OrphanOwner{Group: "addons.daytwo.dev", Kind: "AddonRelease", Namespace: namespace, Name: "cache-prod"},
		},
	}
}

// existing creates an object as an administrator.
func existing[T client.Object](t *testing.T, object T) T {
	t.Helper()
	direct, err := as(admin)
	if err != nil {
		t.Fatal(err)
	}
	if err := direct.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// attempt is one request of one user, which is not carried out.
type attempt struct {
	user    string
	refused string // part of the message; empty if the request is allowed
	request func(context.Context, client.Client) error
}

func try(t *testing.T, attempts map[string]attempt) {
	t.Helper()
	for name, attempt := range attempts {
		t.Run(name, func(t *testing.T) {
			client, err := as(attempt.user)
			if err != nil {
				t.Fatal(err)
			}
			err = attempt.request(t.Context(), client)
			switch {
			case attempt.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case attempt.refused != "" && err == nil:
				t.Error("allowed")
			case attempt.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), attempt.refused)):
				t.Errorf("got %v, want %q in it", err, attempt.refused)
			}
		})
	}
}

func create(object client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func remove(object client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error { return c.Delete(ctx, object, client.DryRunAll) }
}

func update(object client.Object) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Update(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}
}

func patch(object client.Object, body string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
}

func patchStatus(object client.Object, body string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
}

func TestProtectedTenantClusterIsNotDeleted(t *testing.T) {
	protected := tenantCluster("protected")
	protected.Spec.DeletionProtection = true
	existing(t, protected)
	open := existing(t, tenantCluster("open"))
	try(t, map[string]attempt{
		"by its customer":           {customer, "TenantCluster acme/protected is protected from deletion: set spec.deletionProtection to false first", remove(protected)},
		"by an administrator":       {admin, "is protected from deletion", remove(protected)},
		"with its namespace":        {namespaceController, "is protected from deletion", remove(protected)},
		"an unprotected one is":     {customer, "", remove(open)},
		"protection can be removed": {customer, "", patch(protected, `{"spec":{"deletionProtection":false}}`)},
	})
}

func TestTheProvidersDeletionProtectionIsTheProviders(t *testing.T) {
	const ask, theirs = "ask the provider to remove the annotation", "annotations below provider.daytwo.dev/ are the provider's"
	protect := `{"metadata":{"annotations":{"provider.daytwo.dev/deletion-protection":"true"}}}`
	protected := tenantCluster("kept-by-the-provider")
	protected.Annotations = map[string]string{metav1alpha1.AnnotationProviderDeletionProtection: "true"}
	existing(t, protected)
	plain := existing(t, tenantCluster("unprotected"))
	fresh := tenantCluster("fresh")
	fresh.Annotations = protected.Annotations
	try(t, map[string]attempt{
		"a customer deletes it":             {customer, ask, remove(protected)},
		"the provider deletes it":           {provider, ask, remove(protected)},
		"its namespace is deleted":          {namespaceController, ask, remove(protected)},
		"a customer removes the protection": {customer, theirs, patch(protected, `{"metadata":{"annotations":null}}`)},
		"a customer weakens it":             {customer, theirs, patch(protected, `{"metadata":{"annotations":{"provider.daytwo.dev/deletion-protection":"false"}}}`)},
		"a customer sets it":                {customer, theirs, patch(plain, protect)},
		"a customer creates with it":        {customer, theirs, create(fresh)},
		"a customer suspends the provider":  {customer, theirs, patch(plain, `{"metadata":{"annotations":{"provider.daytwo.dev/suspend-until":"2099-01-01T00:00:00Z"}}}`)},
		"the provider sets it":              {provider, "", patch(plain, protect)},
		"the provider removes it":           {provider, "", patch(protected, `{"metadata":{"annotations":null}}`)},
		"a customer deletes another":        {customer, "", remove(plain)},
		"a customer changes something else": {customer, "", patch(protected, `{"spec":{"suspend":true}}`)},
		"the manager leaves it":             {manager, "", patch(protected, `{"metadata":{"labels":{"daytwo.dev/cluster-id":"x"}}}`)},
	})
}

func TestTargetsAreWrittenByTheManagerOnly(t *testing.T) {
	one := existing(t, target("one"))
	const refused = "targets are written by Daytwo"
	try(t, map[string]attempt{
		"the manager creates":                {manager, "", create(target("two"))},
		"the manager changes":                {manager, "", patch(one, `{"spec":{"revision":"r2"}}`)},
		"the manager writes status":          {manager, "", patchStatus(one, `{"status":{"revision":"r2"}}`)},
		"the manager deletes":                {manager, "", remove(one)},
		"an administrator changes":           {admin, "", patch(one, `{"spec":{"revision":"r2"}}`)},
		"somebody creates":                   {powerful, refused, create(target("two"))},
		"somebody changes the spec":          {powerful, refused, patch(one, `{"spec":{"revision":"r2"}}`)},
		"somebody writes status":             {powerful, refused, patchStatus(one, `{"status":{"clusterID":"x"}}`)},
		"somebody deletes":                   {powerful, refused, remove(one)},
		"somebody removes the finalizer":     {powerful, refused, patch(one, `{"metadata":{"finalizers":null}}`)},
		"somebody adds an owner":             {powerful, refused, patch(one, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"a","uid":"1"}]}}`)},
		"somebody changes a label":           {powerful, refused, patch(one, `{"metadata":{"labels":{"daytwo.dev/cluster":"other"}}}`)},
		"somebody sets another annotation":   {powerful, refused, patch(one, `{"metadata":{"annotations":{"a":"b"}}}`)},
		"a customer suspends":                {customer, "", patch(one, `{"metadata":{"annotations":{"daytwo.dev/suspend-until":"2030-01-01T00:00:00Z"}}}`)},
		"a customer asks for a try":          {customer, "", patch(one, `{"metadata":{"annotations":{"daytwo.dev/requested-at":"now"}}}`)},
		"a customer suspends and changes":    {customer, refused, patch(one, `{"metadata":{"annotations":{"daytwo.dev/requested-at":"now"}},"spec":{"revision":"r2"}}`)},
		"the provider changes":               {provider, refused, patch(one, `{"spec":{"revision":"r2"}}`)},
		"its namespace is deleted":           {namespaceController, "", remove(one)},
		"it is collected":                    {garbageCollector, "", remove(one)},
		"the garbage collector creates none": {garbageCollector, refused, create(target("two"))},
	})
}

func TestRenewedTokensAreWrittenByTheManagerOnly(t *testing.T) {
	one := existing(t, renewedToken("renewed"))
	const refused = "tokens that are renewed are written by Daytwo"
	const forged, letGo = `{"data":{"token":"b3Vycw=="}}`, `{"metadata":{"finalizers":null}}`
	try(t, map[string]attempt{
		"the manager creates":                  {manager, "", create(renewedToken("two"))},
		"the manager changes":                  {manager, "", patch(one, forged)},
		"the manager deletes":                  {manager, "", remove(one)},
		"an administrator changes":             {admin, "", patch(one, forged)},
		"a customer creates":                   {customer, refused, create(renewedToken("two"))},
		"a customer changes":                   {customer, refused, patch(one, forged)},
		"a customer removes a finalizer":       {customer, refused, patch(one, letGo)},
		"a customer deletes":                   {customer, "", remove(one)},
		"the provider changes":                 {provider, refused, patch(one, forged)},
		"somebody changes":                     {powerful, refused, patch(one, forged)},
		"its namespace is deleted":             {namespaceController, "", remove(one)},
		"the garbage collector lets go of it":  {garbageCollector, "", patch(one, letGo)},
		"the garbage collector does not forge": {garbageCollector, refused, patch(one, forged)},
		"a customer forges a kubeconfig":       {customer, refused, create(providedKubeconfig("prod-access"))},
		"the manager writes a kubeconfig":      {manager, "", create(providedKubeconfig("prod-access"))},
		"a customer makes another Secret": {customer, "", create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "two"}, Data: map[string][]byte{"token": []byte("theirs")},
		})},
	})
}

func backupPolicy(name string) *backupv1alpha1.BackupPolicy {
	return &backupv1alpha1.BackupPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: backupv1alpha1.BackupPolicySpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}},
			Schedule:   backupv1alpha1.BackupSchedule{Recurrence: backupv1alpha1.Recurrence{Cron: "@daily"}},
			Storage:    backupv1alpha1.BackupStorage{Bucket: "backups", Region: "eu", Credentials: backupv1alpha1.StorageCredentials{SecretName: "storage"}},
		},
	}
}

func TestBackupsAreTheirCustomersAndEnrollmentsTheManagers(t *testing.T) {
	enrollment := &backupv1alpha1.BackupEnrollment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nightly-prod"},
		Spec: backupv1alpha1.BackupEnrollmentSpec{
			TargetSpec:        metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: namespace, Name: "prod"}, Revision: "r1"},
			CredentialsSecret: "storage",
		},
	}
	nightly := existing(t, backupPolicy("nightly"))
	try(t, map[string]attempt{
		"a customer backs up":              {customer, "", create(backupPolicy("weekly"))},
		"a customer makes an enrollment":   {customer, "cannot create resource", create(enrollment)},
		"somebody makes an enrollment":     {powerful, "targets are written by Daytwo", create(enrollment)},
		"the manager makes an enrollment":  {manager, "", create(enrollment)},
		"a customer confirms a withdrawal": {customer, "ask the provider to set them", patch(nightly, `{"metadata":{"annotations":{"daytwo.dev/confirm-withdrawal":"9"}}}`)},
		"a customer names another Secret":  {customer, "", patch(nightly, `{"spec":{"storage":{"credentials":{"secretName":"other"}}}}`)},
	})
}

func bundle(name string) *certificatesv1alpha1.CertificateBundle {
	return &certificatesv1alpha1.CertificateBundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: certificatesv1alpha1.CertificateBundleSpec{
			PolicySpec: metav1alpha1.PolicySpec{ClusterNames: []string{"prod"}}, Mode: certificatesv1alpha1.ModeTrustOnly,
			Trust: &certificatesv1alpha1.Trust{DefaultCAs: true, Targets: []certificatesv1alpha1.TrustTarget{{
				Kind: "ConfigMap", Name: "authorities", Placement: certificatesv1alpha1.Placement{Namespaces: []string{"shop"}},
			}}},
		},
	}
}

func TestBundlesAreTheirCustomersAndDeliveriesTheManagers(t *testing.T) {
	of := func(name string) *certificatesv1alpha1.CertificateDelivery {
		return &certificatesv1alpha1.CertificateDelivery{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: certificatesv1alpha1.CertificateDeliverySpec{
				TargetSpec: metav1alpha1.TargetSpec{ClusterRef: metav1alpha1.ClusterReference{Namespace: namespace, Name: "prod"}, Revision: "r1"},
			},
		}
	}
	authorities, delivery := existing(t, bundle("authorities")), existing(t, of("authorities-prod"))
	labelled := bundle("labelled")
	labelled.Labels = map[string]string{metav1alpha1.ProviderLabelPrefix + "tier": "gold"}
	const confirming = "ask the provider to set them"
	try(t, map[string]attempt{
		"a customer hands authorities out":      {customer, "", create(bundle("others"))},
		"a customer makes a delivery":           {customer, "cannot create resource", create(of("others-prod"))},
		"somebody makes a delivery":             {powerful, "targets are written by Daytwo", create(of("others-prod"))},
		"the manager makes a delivery":          {manager, "", create(of("others-prod"))},
		"a customer names another issuance":     {customer, "targets are written by Daytwo", patch(delivery, `{"spec":{"content":"another"}}`)},
		"a customer suspends a delivery":        {customer, "", patch(delivery, `{"metadata":{"annotations":{"daytwo.dev/suspend-until":"2027-01-01T00:00:00Z"}}}`)},
		"a customer abandons a delivery":        {customer, confirming, patch(delivery, `{"metadata":{"annotations":{"daytwo.dev/abandon":"true"}}}`)},
		"the provider abandons a delivery":      {provider, "", patch(delivery, `{"metadata":{"annotations":{"daytwo.dev/abandon":"true"}}}`)},
		"a customer confirms a withdrawal":      {customer, confirming, patch(authorities, `{"metadata":{"annotations":{"daytwo.dev/confirm-withdrawal":"9"}}}`)},
		"a customer confirms an emergency":      {customer, confirming, patch(authorities, `{"metadata":{"annotations":{"daytwo.dev/confirm-emergency":"2"}}}`)},
		"the provider confirms an emergency":    {provider, "", patch(authorities, `{"metadata":{"annotations":{"daytwo.dev/confirm-emergency":"2"}}}`)},
		"the provider confirms a withdrawal":    {provider, "", patch(authorities, `{"metadata":{"annotations":{"daytwo.dev/confirm-withdrawal":"9"}}}`)},
		"a customer sets the provider's labels": {customer, "labels below provider.daytwo.dev/ are the provider's", create(labelled)},
	})
}

func drillOf(change func(*backupv1alpha1.DRDrillSpec)) *backupv1alpha1.DRDrill {
	drill := &backupv1alpha1.DRDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prod-2026"},
		Spec: backupv1alpha1.DRDrillSpec{
			PolicyName: "nightly", ClusterRef: metav1alpha1.ClusterReference{Namespace: namespace, Name: "prod"},
			DrillScope: backupv1alpha1.DrillScope{Target: backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillStandby, StandbyName: "spare"}},
		},
	}
	change(&drill.Spec)
	return drill
}

func recoveryBy(user string) *backupv1alpha1.DRDrill {
	return drillOf(func(spec *backupv1alpha1.DRDrillSpec) {
		spec.Mode, spec.Confirm, spec.RequestedBy = backupv1alpha1.ModeRecover, "prod", user
	})
}

func TestWhoRecoversForRealSaysSoByName(t *testing.T) {
	rehearsal := drillOf(func(*backupv1alpha1.DRDrillSpec) {})
	try(t, map[string]attempt{
		"a customer rehearses":                {customer, "", create(rehearsal)},
		"a customer recovers":                 {customer, "", create(recoveryBy(customer))},
		"a customer in the name of somebody":  {customer, "as the API server knows you: " + customer, create(recoveryBy(provider))},
		"the manager in the name of somebody": {manager, "as the API server knows you", create(recoveryBy(customer))},
	})
}

func TestWhatARecoveryLacksIsRefusedWithTheWayOut(t *testing.T) {
	direct, err := as(customer)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change  func(*backupv1alpha1.DRDrillSpec)
		message string
	}{
		"not confirmed":         {func(spec *backupv1alpha1.DRDrillSpec) { spec.Confirm = "" }, "set spec.confirm to the name of the cluster"},
		"another one confirmed": {func(spec *backupv1alpha1.DRDrillSpec) { spec.Confirm = "stage" }, "set spec.confirm to the name of the cluster"},
		"by nobody":             {func(spec *backupv1alpha1.DRDrillSpec) { spec.RequestedBy = "" }, "kubectl auth whoami"},
		"beside what was lost": {func(spec *backupv1alpha1.DRDrillSpec) {
			spec.Target = backupv1alpha1.DrillTarget{Mode: backupv1alpha1.DrillNamespaceMapped}
		}, "use target.mode: Standby"},
		"with what is for drill": {func(spec *backupv1alpha1.DRDrillSpec) {
			spec.AlsoRestore = []backupv1alpha1.DrillExposure{backupv1alpha1.ExposeDNS}
		}, "leave out alsoRestore"},
		"a rehearsal that is confirmed": {func(spec *backupv1alpha1.DRDrillSpec) { spec.Mode = backupv1alpha1.ModeRehearse }, "belong to mode: Recover"},
	} {
		drill := recoveryBy(customer)
		test.change(&drill.Spec)
		err := direct.Create(t.Context(), drill, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: got %v, want %q in it", name, err, test.message)
		}
	}
}

func TestWhatABackupPolicyCannotAskIsRefusedWithTheWayOut(t *testing.T) {
	direct, err := as(admin)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*backupv1alpha1.BackupPolicySpec)
		want   string // empty if it is accepted
	}{
		"customers share credentials": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
		}, "write {{ .Cluster.Namespace }} into spec.storage.credentials.secretName"},
		"each customer has its own": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.ClusterNamespaceSelector = &metav1.LabelSelector{}
			spec.Storage.Credentials.SecretName = "storage-{{ .Cluster.Namespace }}-{{ .Cluster.Name }}"
		}, ""},
		"customers share credentials on purpose": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.ClusterNamespaceSelector, spec.Storage.Credentials.AllowShared = &metav1.LabelSelector{}, true
		}, ""},
		"a Secret is named by a template": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.Storage.Credentials.SecretName = "{{ .Cluster.Labels }}"
		}, "spec.storage.credentials.secretName"},
		"a backup expires at once": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.Retention.TTL = &metav1.Duration{Duration: time.Minute}
		}, "ttl is at least 1h"},
		"a start is caught up for two days": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.Schedule.StartingDeadline = &metav1.Duration{Duration: 48 * time.Hour}
		}, "startingDeadline is from 5m to 24h"},
		"a blackout lasts for a month": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.Schedule.Blackouts = []metav1alpha1.RecurringWindow{{Schedule: "@monthly", Duration: metav1.Duration{Duration: 720 * time.Hour}}}
		}, "must be from 1m to 168h"},
		"the endpoint has credentials in it": {func(spec *backupv1alpha1.BackupPolicySpec) {
			spec.Storage.Endpoint = "https://me:secret@s3.example.com"
		}, "spec.storage.endpoint"},
	} {
		policy := backupPolicy("asks")
		test.change(&policy.Spec)
		err := direct.Create(t.Context(), policy, client.DryRunAll)
		if test.want == "" && err != nil || test.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	moved := existing(t, backupPolicy("moved"))
	moved.Spec.Storage.Bucket = "another"
	if err := direct.Update(t.Context(), moved); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "bucket, prefix and endpoint are immutable") {
		t.Errorf("the bucket is another one: got %v", err)
	}
}

// A kind of target that comes later is covered without being named.
func TestEveryTargetOfTheGroupIsWrittenByTheManagerOnly(t *testing.T) {
	preserve := true
	name := apiextensionsv1.CustomResourceDefinitionNames{Plural: "laters", Singular: "later", Kind: "Later", ListKind: "LaterList"}
	definition := existing(t, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "laters.addons.daytwo.dev"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: addonsv1alpha1.GroupVersion.Group, Names: name, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
			}},
		},
	})
	later := &unstructured.Unstructured{}
	later.SetGroupVersionKind(addonsv1alpha1.GroupVersion.WithKind(definition.Spec.Names.Kind))
	later.SetNamespace(namespace)
	later.SetName("one")
	expect.Eventually(t, "the kind is served", func(ctx context.Context) error {
		direct, err := as(admin)
		if err != nil {
			return err
		}
		return direct.Create(ctx, later.DeepCopy(), client.DryRunAll)
	})
	try(t, map[string]attempt{
		"somebody creates": {powerful, "targets are written by Daytwo", create(later)},
	})
}

func TestRevisionsAreWrittenByTheManagerOnly(t *testing.T) {
	one := existing(t, revision("one"))
	other := existing(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"}})
	issuance := revision("issuance")
	issuance.Type = metav1alpha1.SecretTypeIssuance
	issued := existing(t, issuance)
	const refused = "revisions and issuances are written by Daytwo"
	try(t, map[string]attempt{
		"the manager creates":                        {manager, "", create(revision("two"))},
		"the manager deletes":                        {manager, "", remove(one)},
		"a customer creates":                         {customer, refused, create(revision("two"))},
		"a customer changes":                         {customer, refused, patch(one, `{"metadata":{"labels":{"a":"b"}}}`)},
		"a customer deletes":                         {customer, refused, remove(one)},
		"a customer gives an issuance another label": {customer, refused, patch(issued, `{"metadata":{"labels":{"a":"b"}}}`)},
		"a customer deletes an issuance":             {customer, refused, remove(issued)},
		"its namespace is deleted":                   {namespaceController, "", remove(one)},
		"another Secret changes":                     {customer, "", patch(other, `{"stringData":{"a":"b"}}`)},
		"another Secret goes":                        {customer, "", remove(other)},
	})
}

func TestOrphanRecordsAreWrittenByTheManagerAndDeletedByPeople(t *testing.T) {
	one := existing(t, orphanRecord("one"))
	changed := one.DeepCopy()
	changed.Spec.Message = "new"
	const refused = "OrphanRecords are written by Daytwo"
	try(t, map[string]attempt{
		"the manager creates":                   {manager, "", create(orphanRecord("two"))},
		"the manager changes":                   {manager, "", update(changed)},
		"the manager deletes":                   {manager, "", remove(one)},
		"a customer deletes":                    {customer, "", remove(one)},
		"a customer cannot create":              {customer, "cannot create resource", create(orphanRecord("two"))},
		"the provider deletes":                  {provider, "", remove(one)},
		"somebody creates":                      {powerful, refused, create(orphanRecord("two"))},
		"somebody changes":                      {powerful, refused, patch(one, `{"spec":{"clusterID":"another"}}`)},
		"its namespace is deleted":              {namespaceController, "", remove(one)},
		"the garbage collector lets go of it":   {garbageCollector, "", patch(one, `{"metadata":{"finalizers":null}}`)},
		"the garbage collector changes no more": {garbageCollector, refused, patch(one, `{"spec":{"clusterID":"another"}}`)},
	})
}

func TestDangerousAnnotationsAreSetByTheProviderOnly(t *testing.T) {
	cluster := existing(t, tenantCluster("annotated"))
	accepted := tenantCluster("accepted")
	accepted.Annotations = map[string]string{metav1alpha1.AnnotationAcceptClusterID: "x"}
	existing(t, accepted)
	fresh := tenantCluster("fresh")
	fresh.Annotations = accepted.Annotations
	release := existing(t, target("stuck"))
	guarded := existing(t, addon("guarded"))
	confirmed := addon("confirmed")
	confirmed.Annotations = map[string]string{metav1alpha1.AnnotationConfirmWithdrawal: "5"}
	existing(t, confirmed)
	freshAddon := addon("fresh")
	freshAddon.Annotations = confirmed.Annotations
	const refused = "ask the provider"
	accept := `{"metadata":{"annotations":{"daytwo.dev/accept-cluster-id":"y"}}}`
	confirm := `{"metadata":{"annotations":{"daytwo.dev/confirm-withdrawal":"7"}}}`
	abandon := `{"metadata":{"annotations":{"daytwo.dev/abandon":"true"}}}`
	try(t, map[string]attempt{
		"a customer accepts a cluster":         {customer, refused, patch(cluster, accept)},
		"a customer accepts another":           {customer, refused, patch(accepted, accept)},
		"a customer creates an accepted one":   {customer, refused, create(fresh)},
		"a customer changes something else":    {customer, "", patch(accepted, `{"spec":{"suspend":true}}`)},
		"a customer takes the acceptance back": {customer, "", patch(accepted, `{"metadata":{"annotations":null}}`)},
		"the provider accepts a cluster":       {provider, "", patch(cluster, accept)},
		"a customer abandons a target":         {customer, refused, patch(release, abandon)},
		"the provider abandons a target":       {provider, "", patch(release, abandon)},
		"a customer runs the tests of a chart": {customer, "", patch(release, `{"metadata":{"annotations":{"daytwo.dev/run-tests":"now"}}}`)},
		"a customer skips hooks of a deletion": {customer, "", patch(release, `{"metadata":{"annotations":{"daytwo.dev/skip-delete-hooks":"true"}}}`)},
		"a customer confirms a withdrawal":     {customer, refused, patch(guarded, confirm)},
		"a customer confirms another":          {customer, refused, patch(confirmed, confirm)},
		"a customer creates a confirmed one":   {customer, refused, create(freshAddon)},
		"a customer edits a confirmed one":     {customer, "", patch(confirmed, `{"spec":{"suspend":true}}`)},
		"a customer takes that back":           {customer, "", patch(confirmed, `{"metadata":{"annotations":null}}`)},
		"a customer asks an add-on for a try":  {customer, "", patch(guarded, `{"metadata":{"annotations":{"daytwo.dev/requested-at":"now"}}}`)},
		"the provider confirms a withdrawal":   {provider, "", patch(guarded, confirm)},
		"the manager leaves a confirmed one":   {manager, "", patch(confirmed, `{"metadata":{"finalizers":["daytwo.dev/policy"]}}`)},
	})
}

func TestProviderLabelsAreSetByTheProviderOnly(t *testing.T) {
	labelled := tenantCluster("gold")
	labelled.Labels = map[string]string{metav1alpha1.ProviderLabelPrefix + "tier": "gold"}
	existing(t, labelled)
	plain := existing(t, tenantCluster("plain"))
	fresh := tenantCluster("fresh")
	fresh.Labels = labelled.Labels
	const refused = "labels below provider.daytwo.dev/ are the provider's"
	set := `{"metadata":{"labels":{"provider.daytwo.dev/tier":"silver"}}}`
	try(t, map[string]attempt{
		"a customer sets one":              {customer, refused, patch(plain, set)},
		"a customer changes one":           {customer, refused, patch(labelled, set)},
		"a customer removes one":           {customer, refused, patch(labelled, `{"metadata":{"labels":null}}`)},
		"a customer creates with one":      {customer, refused, create(fresh)},
		"a customer sets one of their own": {customer, "", patch(labelled, `{"metadata":{"labels":{"tier":"gold"}}}`)},
		"the provider sets one":            {provider, "", patch(plain, set)},
		"the manager leaves it":            {manager, "", patch(labelled, `{"metadata":{"labels":{"daytwo.dev/cluster-id":"x"}}}`)},
	})
}
