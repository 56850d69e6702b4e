package repositorypassword

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Published is the one that Velero sets where there is none (its package pkg/repository/keys, 1.18).
	Published = "static-passw0rd"
	// MinLength is how long a password is at least, in bytes. The status tells a hash of the Secret in the cluster, so a short
	// password could be guessed.
	MinLength = 16
	// MaxLength is how long a password is at most, in bytes.
	MaxLength = 1024
)

// Password is what Velero is to encrypt its repositories with.
type Password struct {
	Value string
	// Source names the Secret and the key that it is from, for people.
	Source string
	// Version of that Secret.
	Version string
}

// InvalidError says what a person has to mend.
type InvalidError struct{ message string }

// Error implements error.
func (e *InvalidError) Error() string { return e.message }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Read reads a password from the management cluster. An *InvalidError as the error is about what is there, or is not.
func Read(ctx context.Context, live client.Reader, from types.NamespacedName, key string) (Password, error) {
	secret := &corev1.Secret{}
	err := live.Get(ctx, from, secret)
	if apierrors.IsNotFound(err) {
		return Password{}, invalid("there is no Secret %s with the repository password for this cluster: create it with the key %s", from, key)
	}
	if err != nil {
		return Password{}, fmt.Errorf("read Secret %s: %w", from, err)
	}
	read := Password{
		// Velero cuts spaces off, too.
		Value:   strings.TrimSpace(string(secret.Data[key])),
		Source:  fmt.Sprintf("key %s of Secret %s", key, from),
		Version: secret.ResourceVersion,
	}
	return read, read.check()
}

// check refuses a password that does not protect.
func (p Password) check() error {
	switch {
	case p.Value == "":
		return invalid("%s holds no password for Velero's repositories: put one of at least %d characters there", p.Source, MinLength)
	case p.Value == Published:
		return invalid("%s holds the password that Velero publishes: put another one of at least %d characters there", p.Source, MinLength)
	case len(p.Value) < MinLength || len(p.Value) > MaxLength:
		return invalid("%s holds a password that is shorter than %d characters or longer than %d: put another one there", p.Source, MinLength, MaxLength)
	case strings.ContainsFunc(p.Value, unicode.IsControl):
		return invalid("%s holds a password with a line break or another control character inside: put another one there", p.Source)
	}
	return nil
}
