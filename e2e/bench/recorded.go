package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// records is a floor that keeps what Daytwo keeps of each delivery, and nothing else: an object of the same schema, what is
// intended before the cluster is written to, what was done afterwards, and an Event that tells of it.
type records struct {
	*certified
	kind schema.GroupVersionKind
}

// newRecords serves the schema of CertificateDelivery under a group that no controller watches.
func (c *certified) newRecords(ctx context.Context) (*records, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.env.Admin.Get(ctx, client.ObjectKey{Name: "certificatedeliveries." + certificatesv1alpha1.GroupVersion.Group}, definition); err != nil {
		return nil, err
	}
	definition.ObjectMeta = metav1.ObjectMeta{Name: definition.Spec.Names.Plural + "." + benchGroup}
	definition.Spec.Group, definition.Status = benchGroup, apiextensionsv1.CustomResourceDefinitionStatus{}
	definition.Spec.Names.Categories, definition.Spec.Names.ShortNames = nil, nil
	if err := c.env.Admin.Create(ctx, definition); err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Group: benchGroup, Version: certificatesv1alpha1.GroupVersion.Version, Kind: definition.Spec.Names.Kind}
	err := poll(ctx, kind.Kind+" is served", func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return c.env.Admin.List(ctx, list, client.InNamespace(fleetNamespace)) == nil, nil
	})
	return &records{certified: c, kind: kind}, err
}

// deliver delivers the certificates of bundles that Daytwo has delivered, in Secrets and records whose names begin as given.
func (r *records) deliver(ctx context.Context, prefix string, bundles []*certificatesv1alpha1.CertificateBundle) (time.Duration, error) {
	deliveries := &certificatesv1alpha1.CertificateDeliveryList{}
	if err := r.env.Admin.List(ctx, deliveries, client.InNamespace(fleetNamespace), ofBundles(bundles)); err != nil {
		return 0, err
	}
	if want := len(bundles) * r.clusters; len(deliveries.Items) != want {
		return 0, fmt.Errorf("%d deliveries to record, %d wanted", len(deliveries.Items), want)
	}
	byCluster := map[string][]*certificatesv1alpha1.CertificateDelivery{}
	for i := range deliveries.Items {
		one := &deliveries.Items[i]
		byCluster[one.Spec.ClusterRef.Name] = append(byCluster[one.Spec.ClusterRef.Name], one)
	}
	start := time.Now()
	err := r.everywhere(func(i int) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(r.concurrency)
		for _, one := range byCluster[r.fleet[i].Name()] {
			group.Go(func() error { return r.deliverOne(ctx, i, prefix, one) })
		}
		return group.Wait()
	})
	return time.Since(start), err
}

func (r *records) deliverOne(ctx context.Context, cluster int, prefix string, as *certificatesv1alpha1.CertificateDelivery) error {
	record, err := r.record(prefix, as)
	if err != nil {
		return err
	}
	if err := r.env.Admin.Create(ctx, record); err != nil {
		return err
	}
	revision, issuance := &corev1.Secret{}, &corev1.Secret{}
	if err := r.env.Admin.Get(ctx, client.ObjectKey{Namespace: as.Namespace, Name: as.Spec.Revision}, revision); err != nil {
		return err
	}
	if err := r.env.Admin.Get(ctx, client.ObjectKey{Namespace: as.Namespace, Name: as.Spec.Content}, issuance); err != nil {
		return err
	}
	// What is intended is the inventory; the conditions are told afterwards.
	intended := certificatesv1alpha1.CertificateDeliveryStatus{TargetStatus: metav1alpha1.TargetStatus{ClusterID: as.Status.ClusterID}, ObjectsStatus: as.Status.ObjectsStatus}
	if err := r.store(ctx, record, intended); err != nil {
		return err
	}
	bundle := as.Labels[metav1alpha1.LabelPolicy]
	wanted := bareDelivery{name: prefix + "-" + bundle, host: sharedHost(bundle), data: issuance.Data}
	if err := r.deliverOneBare(ctx, cluster, wanted, r.authority); err != nil {
		return err
	}
	if err := r.store(ctx, record, as.Status); err != nil {
		return err
	}
	return r.env.Admin.Create(ctx, eventOf(record))
}

// eventOf tells of a record as Daytwo's Event does of a delivery.
func eventOf(record *unstructured.Unstructured) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.GetNamespace(), GenerateName: record.GetName() + "-"},
		EventTime:  metav1.NowMicro(), ReportingController: benchGroup, ReportingInstance: benchGroup,
		Type: corev1.EventTypeNormal, Reason: "Ready", Action: "Apply", Note: record.GetName() + ": everything is applied and healthy",
		Regarding: corev1.ObjectReference{
			APIVersion: record.GetAPIVersion(), Kind: record.GetKind(), Namespace: record.GetNamespace(), Name: record.GetName(), UID: record.GetUID(),
		},
	}
}

// record is a copy of a delivery, without its status.
func (r *records) record(prefix string, as *certificatesv1alpha1.CertificateDelivery) (*unstructured.Unstructured, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&as.Spec)
	if err != nil {
		return nil, err
	}
	record := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	record.SetGroupVersionKind(r.kind)
	record.SetNamespace(as.Namespace)
	record.SetName(prefix + "-" + as.Name)
	record.SetLabels(as.Labels)
	return record, nil
}

func (r *records) store(ctx context.Context, record *unstructured.Unstructured, status certificatesv1alpha1.CertificateDeliveryStatus) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return r.env.Admin.Status().Patch(ctx, record, client.RawPatch(types.MergePatchType, patch))
}
