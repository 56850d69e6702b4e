package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicensesAreToldByTheirWords(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004\n http://www.apache.org/licenses/":                                                                 "Apache-2.0",
		"Mozilla Public License Version 2.0\n1. Definitions ... GNU General Public License, Version 2.0":                                                 "MPL-2.0",
		"MIT License\nPermission is hereby granted, free of charge, to any\nperson obtaining a copy of this software":                                    "MIT",
		"Permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted":                            "ISC",
		"Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided":                                       "BSD-2-Clause",
		"Redistribution and use in source and binary forms, with or without modification, are permitted ... without specific\nprior written permission.": "BSD-3-Clause",
		"GNU GENERAL PUBLIC LICENSE Version 3": "", "GNU AFFERO GENERAL PUBLIC LICENSE\nVersion 3": "", "GNU LESSER GENERAL PUBLIC LICENSE": "",
		"Business Source License 1.1": "", "All rights reserved.": "", "": "",
	} {
		if got := Classify(text); got != want {
			t.Errorf("%.40q is %q, want %q", text, got, want)
		}
	}
}

func TestAModuleWithoutAPermittedLicenseIsAnError(t *testing.T) {
	none, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "LICENSE.md"), []byte("Server Side Public License"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, says := range map[string]string{none: "no file with a license", other: "LICENSE.md is none that is permitted"} {
		if _, err := licenseOf(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
