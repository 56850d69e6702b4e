package backupstore

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of a Secret with credentials, which are those of an AWS credentials file.
const (
	keyID        = "aws_access_key_id"
	keySecret    = "aws_secret_access_key"
	sessionToken = "aws_session_token"
)

// InvalidCredentialsError is a Secret that a person has to mend.
type InvalidCredentialsError struct{ message string }

// Error implements error.
func (e *InvalidCredentialsError) Error() string { return e.message }

// ReadCredentials reads the credentials of a Secret, and the version of it. An *InvalidCredentialsError says what a person
// has to mend.
func ReadCredentials(ctx context.Context, reader client.Reader, key client.ObjectKey) (credentials Credentials, version string, err error) {
	secret := &corev1.Secret{}
	err = reader.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return credentials, "", invalid("there is no Secret %s with the credentials for this cluster: create it with the keys %s and %s", key, keyID, keySecret)
	}
	if err != nil {
		return credentials, "", fmt.Errorf("read Secret %s: %w", key, err)
	}
	for _, one := range []struct {
		name     string
		value    *string
		optional bool
	}{
		{name: keyID, value: &credentials.AccessKeyID}, {name: keySecret, value: &credentials.SecretAccessKey},
		{name: sessionToken, value: &credentials.SessionToken, optional: true},
	} {
		*one.value = strings.TrimSpace(string(secret.Data[one.name]))
		switch {
		case *one.value == "" && !one.optional:
			return Credentials{}, "", invalid("Secret %s lacks the key %s", key, one.name)
		case strings.ContainsFunc(*one.value, func(char rune) bool { return unicode.IsControl(char) || unicode.IsSpace(char) }):
			return Credentials{}, "", invalid("the key %s of Secret %s has a space or a line break inside", one.name, key)
		}
	}
	return credentials, secret.ResourceVersion, nil
}

func invalid(format string, args ...any) error {
	return &InvalidCredentialsError{message: fmt.Sprintf(format, args...)}
}

// Data is what a Secret with the credentials holds.
func (c Credentials) Data() map[string][]byte {
	data := map[string][]byte{keyID: []byte(c.AccessKeyID), keySecret: []byte(c.SecretAccessKey)}
	if c.SessionToken != "" {
		data[sessionToken] = []byte(c.SessionToken)
	}
	return data
}

// File is an AWS credentials file with the credentials.
func (c Credentials) File() string {
	file := fmt.Sprintf("[default]\n%s=%s\n%s=%s\n", keyID, c.AccessKeyID, keySecret, c.SecretAccessKey)
	if c.SessionToken != "" {
		file += fmt.Sprintf("%s=%s\n", sessionToken, c.SessionToken)
	}
	return file
}
