package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// called is what a call of the program came to.
type called struct {
	code          int
	out, errorOut string
	// managed tells whether the manager was run, and with which flags.
	managed bool
	flags   flags
}

func callProgram(err error, arguments ...string) (c called) {
	var out, errorOut bytes.Buffer
	c.code = execute(arguments, &out, &errorOut, func(f flags) error {
		c.managed, c.flags = true, f
		return err
	})
	c.out, c.errorOut = out.String(), errorOut.String()
	return c
}

func TestArgumentsThatAreNotKnownAreErrorsThatNameTheCommands(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"a command":                {[]string{"foo"}, `unknown command "foo"`},
		"a flag":                   {[]string{"--foo"}, "-foo"},
		"an argument behind flags": {[]string{"--grace=1s", "foo"}, `unexpected argument "foo"`},
		"a value":                  {[]string{"--leader-election=maybe"}, "use lease or off"},
		"an argument of version":   {[]string{"version", "foo"}, `unexpected argument "foo"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := callProgram(nil, test.arguments...)
			if got.managed || got.code != exitUsage || got.out != "" {
				t.Errorf("daytwo %v: %+v", test.arguments, got)
			}
			for _, want := range []string{test.want, "daytwo evidence", "daytwo version", "daytwo help"} {
				if !strings.Contains(got.errorOut, want) {
					t.Errorf("daytwo %v says %q, without %q", test.arguments, got.errorOut, want)
				}
			}
			if strings.Contains(got.errorOut, "--zap-encoder") || strings.Contains(got.errorOut, "-zap-encoder") {
				t.Errorf("daytwo %v buries the error below all flags:\n%s", test.arguments, got.errorOut)
			}
		})
	}
}

func TestVersionIsToldWithoutAManager(t *testing.T) {
	for _, argument := range []string{"version", "--version", "-version"} {
		got := callProgram(nil, argument)
		if got.managed || got.code != exitOK || !strings.HasPrefix(got.out, "daytwo ") || !strings.Contains(got.out, "go1.") || strings.Count(got.out, "\n") != 1 {
			t.Errorf("daytwo %s: %+v", argument, got)
		}
	}
}

func TestHelpListsCommandsAndFlagsAndIsNoError(t *testing.T) {
	for _, argument := range []string{"help", "--help", "-h"} {
		got := callProgram(nil, argument)
		if got.managed || got.code != exitOK || got.errorOut != "" {
			t.Errorf("daytwo %s: %+v", argument, got)
		}
		for _, want := range []string{"daytwo evidence", "-provider-namespace", "-zap-encoder", "-version"} {
			if !strings.Contains(got.out, want) {
				t.Errorf("daytwo %s says nothing of %s", argument, want)
			}
		}
	}
}

func TestWithoutACommandTheManagerRuns(t *testing.T) {
	if got := callProgram(nil); !got.managed || got.code != exitOK || got.out+got.errorOut != "" {
		t.Errorf("daytwo: %+v", got)
	}
	if got := callProgram(nil, "--tool-managers=a,b"); !got.managed || len(got.flags.ToolManagers) != 2 {
		t.Errorf("daytwo with a flag: %+v", got)
	}
	if got := callProgram(errors.New("no cluster")); got.code != exitFailed || got.errorOut != "daytwo: no cluster\n" {
		t.Errorf("a manager that fails: %+v", got)
	}
}
