package certificatedelivery

import (
	"bytes"
	"encoding/base64"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/certificatecontent"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
	"github.com/daytwo-dev/daytwo/controllers/internal/objects"
	"github.com/daytwo-dev/daytwo/controllers/internal/target/apply"
)

// wanted is all that the objects of a delivery are made from.
type wanted struct {
	certificatecontent.Content
	cluster clustertemplate.Cluster
	// issued is the certificate; nil for none.
	issued *issued
	// namespaces are those that a selector selects, by its text.
	namespaces map[string][]string
	// trustBundles is the version in which the cluster serves ClusterTrustBundles; empty if it does not.
	trustBundles string
}

// desired are the objects that hold the certificate and the anchors. It is pure.
func desired(w wanted) ([]apply.Declaration, error) {
	if err := w.checkSize(); err != nil {
		return nil, err
	}
	var list []apply.Declaration
	for i, secret := range w.secretTargets() {
		made, err := w.secrets(fmt.Sprintf("spec.targets[%d]", i), secret)
		if err != nil {
			return nil, err
		}
		list = append(list, made...)
	}
	if w.Trust != nil {
		for i, anchors := range w.Trust.Targets {
			made, err := w.trustObjects(fmt.Sprintf("spec.trust.targets[%d]", i), anchors)
			if err != nil {
				return nil, err
			}
			list = append(list, made...)
		}
	}
	return list, checkUnique(list)
}

// secretTargets are those of the certificate; none while there is no certificate.
func (w wanted) secretTargets() []certificatesv1alpha1.SecretTarget {
	if w.issued == nil {
		return nil
	}
	return w.Targets
}

// maxDeclared is how much the objects of a delivery take together, in bytes before they are encoded: all of them are in memory
// at once. It is 900 KiB of anchors in 40 namespaces, or 5 KiB of a certificate in all objects that a target may have.
const maxDeclared = 36 << 20

// checkSize refuses what would take too much memory, before it is made.
func (w wanted) checkSize() error {
	size, count := 0, 0
	add := func(place certificatesv1alpha1.Placement, each int) {
		count += len(w.in(place))
		size += len(w.in(place)) * each
	}
	for _, secret := range w.secretTargets() {
		// A keystore is about as large as what it is made of.
		add(secret.Placement, (len(w.issued.Certificate)+len(w.issued.PrivateKey)+len(w.issued.CA))*(1+len(secret.Keys)))
	}
	if w.Trust != nil {
		for _, anchors := range w.Trust.Targets {
			add(anchors.Placement, len(w.Trust.PEM))
		}
	}
	if size <= maxDeclared {
		return nil
	}
	return refused(metav1alpha1.ReasonInvalidSpec, "the bundle comes to %d objects with %d MiB in this cluster, more than the %d MiB that it may: select fewer namespaces, or use fewer anchors",
		count, size>>20, maxDeclared>>20)
}

// checkUnique refuses two targets that come to the same object in this cluster.
func checkUnique(list []apply.Declaration) error {
	taken := map[objects.Key]bool{}
	for _, one := range list {
		ref := objects.RefOf(one.Unstructured)
		if taken[ref.Key()] {
			return refused(metav1alpha1.ReasonInvalidSpec, "two targets of the bundle come to %s in this cluster: choose another name for one, or other namespaces", ref)
		}
		taken[ref.Key()] = true
	}
	return nil
}

// secrets are those of one target.
func (w wanted) secrets(field string, secret certificatesv1alpha1.SecretTarget) ([]apply.Declaration, error) {
	name, err := w.name(field+".secretName", secret.SecretName)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{corev1.TLSCertKey: w.issued.Certificate, corev1.TLSPrivateKeyKey: w.issued.PrivateKey}
	if secret.IncludeCA {
		if len(w.issued.CA) == 0 {
			return nil, refused(metav1alpha1.ReasonInvalidSpec, "%s.includeCA: the issuer tells no authority: remove includeCA, or name the authority in spec.trust", field)
		}
		data[corev1.ServiceAccountRootCAKey] = w.issued.CA
	}
	for i, key := range secret.Keys {
		if data[key.Key], err = w.format(fmt.Sprintf("%s.keys[%d]", field, i), key); err != nil {
			return nil, err
		}
	}
	var list []apply.Declaration
	for _, namespace := range w.in(secret.Placement) {
		object := newObject(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, namespace, name, map[string]any{"type": string(corev1.SecretTypeTLS), "data": encoded(data)})
		list = append(list, declaration(object, secret.Placement))
	}
	return list, nil
}

// format is the certificate in another form.
func (w wanted) format(field string, key certificatesv1alpha1.SecretKey) ([]byte, error) {
	if key.Format == certificatesv1alpha1.FormatPEM {
		return bytes.Join([][]byte{bytes.TrimSpace(w.issued.PrivateKey), bytes.TrimSpace(w.issued.Certificate), nil}, []byte("\n")), nil
	}
	password := string(w.Passwords[certificatecontent.PasswordKey(key.PasswordSecretRef.Name, key.PasswordSecretRef.Key)])
	var stores keystore.Stores
	var err error
	if key.Format == certificatesv1alpha1.FormatJKS {
		stores, err = keystore.JKS(w.issued.Material, keystore.JKSOptions{Password: password})
	} else {
		stores, err = keystore.PKCS12(w.issued.Material, keystore.PKCS12Options{Password: password})
	}
	if err != nil {
		return nil, refused(metav1alpha1.ReasonInvalidSpec, "%s: %s", field, err)
	}
	return stores.Keystore, nil
}

// trustObjects are those of one target.
func (w wanted) trustObjects(field string, anchors certificatesv1alpha1.TrustTarget) ([]apply.Declaration, error) {
	name, err := w.name(field+".name", anchors.Name)
	if err != nil {
		return nil, err
	}
	if anchors.Kind == trustBundleKind {
		if w.trustBundles == "" {
			return nil, nil
		}
		kind := schema.GroupVersionKind{Group: trustBundleGroup, Version: w.trustBundles, Kind: trustBundleKind}
		object := newObject(kind, "", name, map[string]any{"spec": map[string]any{"trustBundle": w.Trust.PEM}})
		return []apply.Declaration{declaration(object, anchors.Placement)}, nil
	}
	content := map[string]any{"data": map[string]any{anchors.Key: w.Trust.PEM}}
	if anchors.Kind == "Secret" {
		content = map[string]any{"type": string(corev1.SecretTypeOpaque), "data": encoded(map[string][]byte{anchors.Key: []byte(w.Trust.PEM)})}
	}
	var list []apply.Declaration
	for _, namespace := range w.in(anchors.Placement) {
		object := newObject(schema.GroupVersionKind{Version: "v1", Kind: anchors.Kind}, namespace, name, content)
		list = append(list, declaration(object, anchors.Placement))
	}
	return list, nil
}

// name of an object in this cluster.
func (w wanted) name(field, text string) (string, error) {
	name, err := clustertemplate.Expand(text, w.cluster)
	if err != nil {
		return "", refused(metav1alpha1.ReasonInvalidSpec, "%s: %s", field, err)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", refused(metav1alpha1.ReasonInvalidSpec, "%s becomes %q in this cluster, which is no name of an object: %s", field, name, problems[0])
	}
	return name, nil
}

// in are the namespaces that a placement comes to.
func (w wanted) in(place certificatesv1alpha1.Placement) []string {
	if place.NamespaceSelector == nil {
		return place.Namespaces
	}
	return w.namespaces[selectorOf(place)]
}

func declaration(object *unstructured.Unstructured, place certificatesv1alpha1.Placement) apply.Declaration {
	adoption := apply.AdoptNothing
	if place.OnConflict == certificatesv1alpha1.ConflictAdopt {
		adoption = apply.AdoptFromTools
	}
	return apply.Declaration{
		Unstructured: object, Kept: place.DeletionPolicy == metav1alpha1.DeletionPolicyOrphan,
		Adoption: adoption, AdoptBy: "onConflict: Adopt",
	}
}

func newObject(kind schema.GroupVersionKind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func encoded(data map[string][]byte) map[string]any {
	texts := make(map[string]any, len(data))
	for key, value := range data {
		texts[key] = base64.StdEncoding.EncodeToString(value)
	}
	return texts
}
