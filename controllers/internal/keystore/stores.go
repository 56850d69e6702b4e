package keystore

// Stores are two files of one format, with one password.
type Stores struct {
	// Keystore has the key with its chain, and the CAs.
	Keystore []byte
	// Truststore has the CAs alone; nil if there are none.
	Truststore []byte
}

// String keeps keys out of logs.
func (Stores) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (s Stores) GoString() string { return s.String() }
