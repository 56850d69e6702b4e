package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/daytwo-dev/daytwo/internal/version"
)

// The program runs the manager unless its first argument is one of these commands.
const (
	// evidenceCommand checks or reports the evidence of drills.
	evidenceCommand = "evidence"
	versionCommand  = "version"
	helpCommand     = "help"
)

const usage = `usage: daytwo [--FLAG=VALUE]…             run the manager
       daytwo evidence verify|report …    check what drills prove, or make a page of it
       daytwo version                     tell what the program was built from
       daytwo help                        list the flags of the manager`

// Exit codes; the one for arguments that cannot be understood is that of package flag.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// execute does what the arguments ask for, and returns the exit code. It runs the manager with manage.
func execute(arguments []string, out, errorOut io.Writer, manage func(flags) error) int {
	code, err := dispatch(arguments, out, manage)
	if err != nil {
		_, _ = fmt.Fprintln(errorOut, "daytwo:", err)
	}
	return code
}

func dispatch(arguments []string, out io.Writer, manage func(flags) error) (int, error) {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") {
		return runManager(arguments, out, manage)
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case evidenceCommand:
		return exitCode(runEvidence(rest, out))
	case versionCommand, helpCommand:
		if len(rest) > 0 {
			return exitUsage, fmt.Errorf("unexpected argument %q: %s takes none\n%s", rest[0], command, usage)
		}
		return runManager([]string{"--" + command}, out, manage)
	default:
		return exitUsage, fmt.Errorf("unknown command %q\n%s", command, usage)
	}
}

func runManager(arguments []string, out io.Writer, manage func(flags) error) (int, error) {
	f, err := parse(arguments, out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, nil
	case err != nil:
		return exitUsage, fmt.Errorf("%w\n%s", err, usage)
	case f.version:
		_, err := fmt.Fprintln(out, "daytwo", version.Get())
		return exitCode(err)
	}
	return exitCode(manage(f))
}

func exitCode(err error) (int, error) {
	if err != nil {
		return exitFailed, err
	}
	return exitOK, nil
}
