package keystore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/keystore"
)

// TestProgramsOpenTheStores asks OpenSSL and Java as well, where a machine has them, for the formats that all their versions in
// use can read. TestStoresHoldWhatWasIssued opens every format on every machine, with the libraries.
func TestProgramsOpenTheStores(t *testing.T) {
	i := newIssued(t)
	java, err := keystore.JKS(i.material(t), keystore.JKSOptions{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	expectOpened(t, java.Keystore, 4, keytool)
	expectOpened(t, java.Truststore, 2, keytool)
	modern, err := keystore.PKCS12(i.material(t), keystore.PKCS12Options{Password: password})
	if err != nil {
		t.Fatal(err)
	}
	expectOpened(t, modern.Keystore, 4, openssl)
	expectOpened(t, modern.Truststore, 2, openssl)
	legacy, err := keystore.PKCS12(i.material(t), keystore.PKCS12Options{Password: password, Profile: keystore.LegacyDES})
	if err != nil {
		t.Fatal(err)
	}
	expectOpened(t, legacy.Keystore, 4, openssl)
	expectOpened(t, legacy.Truststore, 2, keytool)
}

// keytool is the command that lists a file with Java's keytool.
func keytool(file string) []string {
	return []string{"keytool", "-list", "-rfc", "-keystore", file, "-storepass", password}
}

// openssl is the command that lists a file with OpenSSL.
func openssl(file string) []string {
	return []string{"openssl", "pkcs12", "-in", file, "-passin", "pass:" + password, "-nodes"}
}

func expectOpened(t *testing.T, content []byte, certificates int, command func(file string) []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	line := command(file)
	path, err := exec.LookPath(line[0])
	if err != nil {
		t.Logf("there is no %s on this machine", line[0])
		return
	}
	output, err := exec.CommandContext(t.Context(), path, line[1:]...).CombinedOutput()
	if got := strings.Count(string(output), "-----BEGIN CERTIFICATE-----"); err != nil || got != certificates {
		t.Errorf("%s finds %d certificates and not %d: %v", line[0], got, certificates, err)
	}
}
