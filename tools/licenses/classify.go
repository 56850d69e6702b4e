package main

import "strings"

// Classify returns the SPDX identifier of a permitted license by its words; empty for any other text. Permitted are licenses
// that ask for no more than to be passed on with the program: those without copyleft, and MPL-2.0, whose copyleft ends with
// the files that are under it.
func Classify(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	begins := strings.ToLower(words[:min(len(words), 300)])
	switch {
	case strings.Contains(begins, "mozilla public license") && strings.Contains(begins, "2.0"):
		return "MPL-2.0"
	case strings.Contains(begins, "general public license"):
		return ""
	case strings.Contains(words, "Apache License") && strings.Contains(words, "Version 2.0"):
		return "Apache-2.0"
	case strings.Contains(words, "Permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case strings.Contains(words, "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"),
		strings.Contains(words, "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"):
		return "ISC"
	case strings.Contains(words, "Redistribution and use in source and binary forms, with or without modification, are permitted"):
		if strings.Contains(words, "without specific prior written permission") {
			return "BSD-3-Clause"
		}
		return "BSD-2-Clause"
	}
	return ""
}
