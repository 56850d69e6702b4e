package keystore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultAlias is the alias of the key in a JKS keystore, as in cert-manager.
	DefaultAlias = "certificate"
	// MaxPassword is how long a password is at most, in bytes.
	MaxPassword = 128
	// MinJKSPassword is how long the password of a JKS keystore is at least. Java's keytool makes none with a shorter one.
	MinJKSPassword = 6
)

// Profile is which algorithms protect a PKCS#12 file. The names are those of cert-manager's field profile.
type Profile string

// Profiles, as the library go-pkcs12 has them.
const (
	// Modern2023 is AES-256 and HMAC-SHA-256, for OpenSSL 1.1.1, Java 12, Windows Server 2019 and later ones. It is the default.
	Modern2023 Profile = "Modern2023"
	// Modern2026 is Modern2023 with PBMAC1, for OpenSSL 3.4, Java 26 and later ones.
	Modern2026 Profile = "Modern2026"
	// LegacyDES is 3DES and HMAC-SHA-1, which almost everything reads.
	LegacyDES Profile = "LegacyDES"
	// LegacyRC2 is 40-bit RC2 for certificates, and 3DES. OpenSSL 3 reads it only when it is told to.
	LegacyRC2 Profile = "LegacyRC2"
)

// JKSOptions are what a person chooses about a JKS keystore.
type JKSOptions struct {
	// Password is MinJKSPassword to MaxPassword printable ASCII characters.
	Password string
	// Alias of the key; empty for DefaultAlias. It has up to 64 letters, digits, dots, hyphens and underscores, in any case, which JKS
	// does not keep, and is none of ca, ca-1, ca-2, and so on, which are the CAs.
	Alias string
}

// PKCS12Options are what a person chooses about a PKCS#12 file.
type PKCS12Options struct {
	// Password is 1 to MaxPassword bytes of printable characters, all in the Basic Multilingual Plane.
	Password string
	// Profile is empty for Modern2023.
	Profile Profile
}

// String keeps passwords out of logs.
func (JKSOptions) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (o JKSOptions) GoString() string { return o.String() }

// String keeps passwords out of logs.
func (PKCS12Options) String() string { return "[redacted]" }

// GoString keeps them out of %#v.
func (o PKCS12Options) GoString() string { return o.String() }

// OptionError says which option a person has to change. It holds nothing of a password.
type OptionError struct {
	// Option is password, alias or profile.
	Option string
	// Problem says what is wrong with it, and Remedy what to do.
	Problem, Remedy string
}

// Error joins option, problem and remedy to one sentence.
func (e *OptionError) Error() string {
	return fmt.Sprintf("the %s of the keystore %s: %s", e.Option, e.Problem, e.Remedy)
}

var (
	aliasForm     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	reservedAlias = regexp.MustCompile(`^(?i)ca(-[0-9]+)?$`)
)

// Check returns an *OptionError if no keystore can be built with the options.
func (o JKSOptions) Check() error {
	if err := checkPassword(o.Password, MinJKSPassword); err != nil {
		return err
	}
	if strings.ContainsFunc(o.Password, func(r rune) bool { return r > unicode.MaxASCII }) {
		// The library writes a byte where Java has a character.
		return &OptionError{"password", "has characters outside of ASCII, with which Java opens no JKS keystore", "use letters, digits and punctuation of ASCII"}
	}
	switch {
	case !aliasForm.MatchString(o.alias()):
		return &OptionError{"alias", "has other characters than letters, digits, dots, hyphens and underscores, or more than 64", "use a name like " + DefaultAlias}
	case reservedAlias.MatchString(o.alias()):
		return &OptionError{"alias", "is one that the CAs have", "use another name, like " + DefaultAlias}
	}
	return nil
}

func (o JKSOptions) alias() string {
	if o.Alias == "" {
		return DefaultAlias
	}
	return o.Alias
}

// Check returns an *OptionError if no file can be built with the options.
func (o PKCS12Options) Check() error {
	if err := checkPassword(o.Password, 1); err != nil {
		return err
	}
	if strings.ContainsFunc(o.Password, func(r rune) bool { return r > 0xffff }) {
		return &OptionError{"password", "has characters that PKCS#12 cannot encode, such as emoji", "use letters, digits and punctuation"}
	}
	if _, ok := encoders[o.profile()]; !ok {
		return &OptionError{"profile", "is not known", "use Modern2023, Modern2026, LegacyDES or LegacyRC2"}
	}
	return nil
}

func (o PKCS12Options) profile() Profile {
	if o.Profile == "" {
		return Modern2023
	}
	return o.Profile
}

// checkPassword refuses a line break at the end, too. Most come from an editor, and programs disagree whether it belongs to the
// password.
func checkPassword(password string, least int) error {
	switch {
	case password == "":
		return &OptionError{"password", "is empty", "put one into the Secret"}
	case len(password) < least:
		return &OptionError{"password", fmt.Sprintf("has fewer than %d characters", least), "use a longer one"}
	case len(password) > MaxPassword:
		return &OptionError{"password", fmt.Sprintf("has more than %d bytes", MaxPassword), "use a shorter one"}
	case !utf8.ValidString(password):
		return &OptionError{"password", "is not UTF-8", "use text, such as that of openssl rand -hex 16"}
	case strings.ContainsFunc(password, unicode.IsControl):
		return &OptionError{"password", "has a line break or another control character", "write it without one, also at the end"}
	}
	return nil
}
