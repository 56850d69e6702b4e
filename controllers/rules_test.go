package controllers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

func TestDriftExceptionsOfAFileAreAddedToTheBuiltInOnes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exceptions.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("exceptions: [{manager: mesh, kinds: [ConfigMap], fields: [/data/root], why: it does}]")
	catalog, err := Options{DriftExceptions: file}.exceptions()
	if built := managedfields.DefaultCatalog(); err != nil || len(catalog) != len(built)+1 || catalog[len(built)].Manager != "mesh" {
		t.Errorf("got %v, %v", catalog, err)
	}
	write("exceptions: [{manager: mesh}]")
	if _, err := (Options{DriftExceptions: file}).rules(); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "kinds") {
		t.Errorf("got %v, want the file and what is missing", err)
	}
	if _, err := (Options{DriftExceptions: file + ".not"}).rules(); err == nil {
		t.Error("a file that is not there is passed over")
	}
}
