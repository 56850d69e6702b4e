package charts

import "time"

// Options of a Fetcher. The zero value is the default.
type Options struct {
	// AllowPrivateSources lets repositories have any address, and takes the HTTP proxy that the
	// environment names. Without it, addresses that are not public are refused and no proxy is used.
	AllowPrivateSources bool
	// Mirrors stand in for repositories; nil for none.
	Mirrors Mirrors
	// CacheBytes is how many bytes of archives are kept in memory; if zero, 64 MiB.
	CacheBytes int64
	// MaxArchive is the largest archive, in bytes; if zero, 20 MiB.
	MaxArchive int64
	// MaxIndex is the largest index.yaml, in bytes and inflated; if zero, 32 MiB.
	MaxIndex int64
	// Timeout of one fetch, all requests and waits included; if zero, 60 s.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	o.CacheBytes = orDefault(o.CacheBytes, 64<<20)
	o.MaxArchive = orDefault(o.MaxArchive, 20<<20)
	o.MaxIndex = orDefault(o.MaxIndex, 32<<20)
	o.Timeout = orDefault(o.Timeout, time.Minute)
	return o
}

func orDefault[number int | int64 | time.Duration](value, fallback number) number {
	if value <= 0 {
		return fallback
	}
	return value
}
