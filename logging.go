package main

import (
	"flag"
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logging is what the flags --zap-* say. Their names are those of all managers that are built on controller-runtime.
type logging struct {
	development bool
	encoder     string
	// level and stacktraceLevel are nil where no flag says otherwise.
	level, stacktraceLevel *zapcore.Level
	encodeTime             zapcore.TimeEncoder
}

func (l *logging) bindFlags(set *flag.FlagSet) {
	set.BoolVar(&l.development, "zap-devel", false, "write logs for people: console, level debug, stack traces of warnings")
	set.Func("zap-encoder", "json or console (default json)", func(value string) error {
		if value != "json" && value != "console" {
			return fmt.Errorf("use json or console")
		}
		l.encoder = value
		return nil
	})
	set.Func("zap-log-level", "debug, info, error, panic, or a number above 0 for more (default info)", func(value string) (err error) {
		l.level, err = parseVerbosity(value)
		return err
	})
	set.Func("zap-stacktrace-level", "level from which stack traces are written: info, error or panic (default error)", func(value string) (err error) {
		l.stacktraceLevel, err = parseLevel(value, "info", "error", "panic")
		return err
	})
	set.Func("zap-time-encoding", "epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano (default epoch)", func(value string) error {
		// zap takes what it does not know for epoch.
		switch value {
		case "epoch", "millis", "nanos", "iso8601", "rfc3339", "rfc3339nano":
			return l.encodeTime.UnmarshalText([]byte(value))
		}
		return fmt.Errorf("use epoch, millis, nanos, iso8601, rfc3339 or rfc3339nano")
	})
}

func parseLevel(value string, names ...string) (*zapcore.Level, error) {
	for _, name := range names {
		if value == name {
			level, err := zapcore.ParseLevel(value)
			return &level, err
		}
	}
	return nil, fmt.Errorf("use one of %v", names)
}

// parseVerbosity accepts a verbosity of logr too, which zap counts downwards from info. zap's levels have 8 bits.
func parseVerbosity(value string) (*zapcore.Level, error) {
	if verbosity, err := strconv.ParseUint(value, 10, 7); err == nil && verbosity > 0 {
		level := zapcore.InfoLevel - zapcore.Level(verbosity)
		return &level, nil
	}
	level, err := parseLevel(value, "debug", "info", "error", "panic")
	if err != nil {
		return nil, fmt.Errorf("%w, or a number from 1 to 127", err)
	}
	return level, nil
}

// newLogger writes to standard error. Of what says the same more than 100 times a second, zap writes every hundredth,
// except in development.
func (l *logging) newLogger() (logr.Logger, error) {
	config := zap.NewProductionConfig()
	if l.development {
		config = zap.NewDevelopmentConfig()
	}
	config.DisableCaller = true
	if l.encoder != "" {
		config.Encoding = l.encoder
	}
	if l.level != nil {
		config.Level.SetLevel(*l.level)
	}
	if l.encodeTime != nil {
		config.EncoderConfig.EncodeTime = l.encodeTime
	}
	var options []zap.Option
	if l.stacktraceLevel != nil {
		config.DisableStacktrace = true
		options = append(options, zap.AddStacktrace(*l.stacktraceLevel))
	}
	logger, err := config.Build(options...)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("logger: %w", err)
	}
	return zapr.NewLogger(logger), nil
}
