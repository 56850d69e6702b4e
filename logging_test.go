package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

func parseLogging(arguments ...string) (*logging, error) {
	l := &logging{}
	set := flag.NewFlagSet("daytwo", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	l.bindFlags(set)
	return l, set.Parse(arguments)
}

func TestLoggingFlags(t *testing.T) {
	for argument, enabled := range map[string]map[int]bool{
		"--zap-devel=false":     {0: true, 1: false},
		"--zap-devel":           {0: true, 1: true, 2: false},
		"--zap-log-level=debug": {1: true, 2: false},
		"--zap-log-level=error": {0: false},
		"--zap-log-level=5":     {5: true, 6: false},
		"--zap-log-level=127":   {127: true},
	} {
		flags, err := parseLogging(argument)
		if err != nil {
			t.Fatal(err)
		}
		logger, err := flags.newLogger()
		if err != nil {
			t.Fatal(err)
		}
		for verbosity, want := range enabled {
			if got := logger.V(verbosity).Enabled(); got != want {
				t.Errorf("%s: verbosity %d is enabled: %t, want %t", argument, verbosity, got, want)
			}
		}
	}
}

func TestLoggingFlagsThatAreWrongAreRefusedAndNamed(t *testing.T) {
	for _, argument := range []string{
		"--zap-encoder=xml", "--zap-log-level=0", "--zap-log-level=128", "--zap-log-level=loud",
		"--zap-stacktrace-level=debug", "--zap-time-encoding=sundial",
	} {
		_, err := parseLogging(argument)
		name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}

func TestTimeEncodingsAreThoseOfTheFlag(t *testing.T) {
	for _, encoding := range []string{"epoch", "millis", "nanos", "iso8601", "rfc3339", "rfc3339nano"} {
		flags, err := parseLogging("--zap-time-encoding="+encoding, "--zap-encoder=console", "--zap-stacktrace-level=panic")
		if err != nil || flags.encodeTime == nil || *flags.stacktraceLevel != zapcore.PanicLevel {
			t.Errorf("%s: %+v, %v", encoding, flags, err)
			continue
		}
		if _, err := flags.newLogger(); err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}
