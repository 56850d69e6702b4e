package helm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/internal/untrusted"
)

const (
	// maxPacked is how large a record may be as it is stored, in bytes: what the data of a Secret may have
	// (corev1.MaxSecretSize).
	maxPacked = corev1.MaxSecretSize
	// maxRecord is how large a record may be once it is inflated, in bytes. The text of charts shrinks to a fifth to a
	// tenth; that it shrinks to less than a 16th is no honest record's case.
	maxRecord = 16 << 20
	// maxRecordValues bounds the values in a record. Files and manifests are one value each, so most have some hundreds.
	maxRecordValues = 100_000
)

// Store reads and writes the records of one release.
type Store struct {
	release      Release
	installation string
	secrets      *secrets
	driver       *driver.Secrets
	// confirm makes sure of the cluster; confirmed tells that it has, since the store was made.
	confirm   func(context.Context) error
	confirmed bool
}

// Cluster is where records are kept.
type Cluster interface {
	// Secrets of a namespace.
	Secrets(namespace string) (corev1client.SecretInterface, error)
	// Confirm fails if it is not certain that requests reach the cluster that is meant.
	Confirm(ctx context.Context) error
}

// NewStore returns the store of a release's records among the Secrets of its namespace. Every request
// ends with the context, which the driver does not know of. Records are labelled as the
// installation's. The cluster is confirmed before the first write, since what is written rests on what was read, and
// before a record is created.
func NewStore(ctx context.Context, cluster Cluster, release Release, installation string) (*Store, error) {
	client, err := cluster.Secrets(release.Namespace)
	if err != nil {
		return nil, err
	}
	bound := &secrets{SecretInterface: client, ctx: ctx}
	store := &Store{
		release: release, installation: installation, secrets: bound, driver: driver.NewSecrets(bound), confirm: cluster.Confirm,
	}
	store.driver.SetLogger(slog.DiscardHandler)
	return store, nil
}

// Create writes a new record, and returns the metadata of its Secret. IsExists tells that the version
// was taken meanwhile. The release's name, namespace and labels are filled in.
func (s *Store) Create(record *release.Release, inputs string) (*metav1.ObjectMeta, error) {
	if err := s.confirm(s.secrets.ctx); err != nil {
		return nil, err
	}
	s.confirmed = true
	s.fill(record, inputs)
	if err := s.driver.Create(s.release.SecretName(record.Version), record); err != nil {
		return nil, fmt.Errorf("write version %d of Helm release %s: %w", record.Version, s.release, err)
	}
	return &s.secrets.answer.ObjectMeta, nil
}

// Update writes a record again, if its Secret is still the one that the entry tells of.
func (s *Store) Update(entry Entry, record *release.Release, inputs string) (*metav1.ObjectMeta, error) {
	s.fill(record, inputs)
	return s.update(entry, record)
}

func (s *Store) update(entry Entry, record *release.Release) (*metav1.ObjectMeta, error) {
	if err := s.Confirm(); err != nil {
		return nil, err
	}
	s.secrets.uid = entry.UID
	if err := s.driver.Update(s.release.SecretName(record.Version), record); err != nil {
		return nil, fmt.Errorf("write version %d of Helm release %s: %w", record.Version, s.release, err)
	}
	return &s.secrets.answer.ObjectMeta, nil
}

func (s *Store) fill(record *release.Release, inputs string) {
	record.Name, record.Namespace = s.release.Name, s.release.Namespace
	record.Labels = map[string]string{
		LabelInputs:                 inputs + inputsSuffix(record.Version),
		metav1alpha1.LabelManagedBy: s.installation,
	}
}

// Settle marks a record as one that another took over from: superseded if it was deployed, failed if
// it was under way.
func (s *Store) Settle(entry Entry) error {
	record, err := s.Read(entry.Version)
	if err != nil || record == nil {
		return err
	}
	// Helm may have come further since the history was read.
	record.Info.Status = settledStatus(record.Info.Status)
	_, err = s.update(entry, record)
	return err
}

// Read returns a record; nil if it is gone, or no record that Helm could read.
func (s *Store) Read(version int) (*release.Release, error) {
	secret, err := s.secrets.Get(s.secrets.ctx, s.release.SecretName(version), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read version %d of Helm release %s: %w", version, s.release, err)
	}
	record, err := decode(secret.Data["release"])
	if err != nil {
		return nil, nil
	}
	record.Labels = maps.Clone(secret.Labels)
	for _, label := range driver.GetSystemLabels() {
		delete(record.Labels, label)
	}
	return record, nil
}

// Delete removes a record.
func (s *Store) Delete(entry Entry) error {
	if err := s.Confirm(); err != nil {
		return err
	}
	err := s.secrets.Delete(s.secrets.ctx, s.release.SecretName(entry.Version), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &entry.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove version %d of Helm release %s: %w", entry.Version, s.release, err)
	}
	return nil
}

// Confirm makes sure of the cluster, once: it fails if what was read may be of another one.
func (s *Store) Confirm() error {
	if s.confirmed {
		return nil
	}
	err := s.confirm(s.secrets.ctx)
	s.confirmed = err == nil
	return err
}

// decode reads what the driver wrote: base64 of gzip of JSON. The JSON is inflated and counted before it is decoded.
func decode(data []byte) (*release.Release, error) {
	if len(data) > maxPacked {
		return nil, fmt.Errorf("is larger than %d bytes", maxPacked)
	}
	compressed, err := base64.StdEncoding.DecodeString(string(data))
	if err != nil {
		return nil, err
	}
	var text io.Reader = bytes.NewReader(compressed)
	if bytes.HasPrefix(compressed, []byte{0x1f, 0x8b}) {
		if text, err = gzip.NewReader(text); err != nil {
			return nil, err
		}
	}
	plain, err := io.ReadAll(io.LimitReader(text, maxRecord+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxRecord {
		return nil, fmt.Errorf("inflates beyond %d bytes", maxRecord)
	}
	var size untrusted.JSONSize
	if size.ScanAll(plain); size.Values > maxRecordValues {
		return nil, fmt.Errorf("holds more than %d values", maxRecordValues)
	}
	record := &release.Release{}
	if err := json.Unmarshal(plain, record); err != nil {
		return nil, err
	}
	if record.Info == nil {
		record.Info = &release.Info{Status: common.StatusUnknown}
	}
	return record, nil
}

// secrets gives the driver's requests what it does not know of, and keeps the last answer.
type secrets struct {
	corev1client.SecretInterface
	ctx context.Context
	// uid is of the Secret that is updated; another one is a conflict.
	uid    types.UID
	answer *corev1.Secret
}

func (s *secrets) Create(_ context.Context, secret *corev1.Secret, options metav1.CreateOptions) (*corev1.Secret, error) {
	answer, err := s.SecretInterface.Create(s.ctx, secret, options)
	s.answer = answer
	return answer, err
}

func (s *secrets) Update(_ context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error) {
	secret.UID = s.uid
	answer, err := s.SecretInterface.Update(s.ctx, secret, options)
	s.answer = answer
	return answer, err
}
