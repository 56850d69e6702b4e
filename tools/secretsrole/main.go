// Command secretsrole writes the narrower variant of the manager's role: the ClusterRole without Secrets, and one for Secrets alone,
// which is bound in some namespaces.
//
//	go run -C tools ./secretsrole --role ../config/rbac/role.yaml --narrow ../config/narrow
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// name of the role for Secrets.
const name = "daytwo-secrets"

const heading = "# Written by make manifests, from config/rbac/role.yaml.\n"

func main() {
	role := flag.String("role", "", "file with the manager's generated ClusterRole, its first document")
	narrow := flag.String("narrow", "", "directory of the narrower variant")
	flag.Parse()
	if err := run(*role, *narrow); err != nil {
		fmt.Fprintln(os.Stderr, "secretsrole:", err)
		os.Exit(1)
	}
}

func run(file, narrow string) error {
	whole, err := read(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	others, secrets := split(whole.Rules)
	if len(secrets) == 0 {
		return errors.New(file + " has no rule for Secrets: the narrower variant is of no use any more")
	}
	return errors.Join(
		write(filepath.Join(narrow, "manager", "role.yaml"), whole.Name, others),
		write(filepath.Join(narrow, "secrets_role.yaml"), name, secrets),
	)
}

// read returns the ClusterRole, which comes first.
func read(file string) (*rbacv1.ClusterRole, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			return nil, err
		}
		if role.Kind == "ClusterRole" {
			return role, nil
		}
	}
	return nil, errors.New("there is no ClusterRole")
}

func write(file, name string, rules []rbacv1.PolicyRule) error {
	content, err := yaml.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]string   `json:"metadata"`
		Rules           []rbacv1.PolicyRule `json:"rules"`
	}{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		Metadata: map[string]string{"name": name}, Rules: rules,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(heading), content...), 0o644) //nolint:gosec // Everybody may read it.
}
