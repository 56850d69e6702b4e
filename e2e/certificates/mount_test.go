package certificates

import (
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
)

// mount stands in for kubelet: it is a directory with the content of a Secret.
type mount string

// replace replaces the content as kubelet does (AtomicWriter in pkg/volume/util of k8s.io/kubernetes): each file is a link
// through ..data, and ..data is a link to a directory, which another takes the place of in one step.
func (m mount) replace(secret *corev1.Secret) error {
	if err := os.MkdirAll(string(m), 0o700); err != nil {
		return err
	}
	content, err := os.MkdirTemp(string(m), "..")
	if err != nil {
		return err
	}
	for key, value := range secret.Data {
		if err := os.WriteFile(filepath.Join(content, key), value, 0o600); err != nil {
			return err
		}
	}
	data, next := filepath.Join(string(m), "..data"), filepath.Join(string(m), "..data_tmp")
	before, linked := os.Readlink(data)
	if err := os.Symlink(filepath.Base(content), next); err != nil {
		return err
	}
	if err := os.Rename(next, data); err != nil {
		return err
	}
	if linked == nil {
		return os.RemoveAll(filepath.Join(string(m), before))
	}
	for key := range secret.Data {
		if err := os.Symlink(filepath.Join("..data", key), filepath.Join(string(m), key)); err != nil {
			return err
		}
	}
	return nil
}
