package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
)

// stored is all that etcd keeps on disk: its database with former versions of objects, and its log. One etcd serves all clusters,
// so what is not in there is in none of them.
type stored [][]byte

func (s *suite) everythingStored() stored {
	s.Helper()
	var all stored
	must(s, filepath.WalkDir(filepath.Join(stateDir, "etcd"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(all, content)
		return err
	}))
	if len(all) == 0 {
		s.Fatal("etcd has no files")
	}
	return all
}

// contains is whether a text is there in any of the forms in which API servers store one.
func (all stored) contains(text []byte) bool {
	for _, form := range forms(text) {
		for _, content := range all {
			if bytes.Contains(content, form) {
				return true
			}
		}
	}
	return false
}

// has is whether anything of a private key is there: its number, or the first line of it in PEM, of PKCS#8 or SEC 1.
func (all stored) has(key *ecdsa.PrivateKey, s *suite) bool {
	s.Helper()
	number, err := key.Bytes()
	must(s, err)
	if all.contains(number) {
		return true
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	must(s, err)
	sec1, err := x509.MarshalECPrivateKey(key)
	must(s, err)
	return all.hasPEM(pkcs8) || all.hasPEM(sec1)
}

// hasPEM is whether the first line in PEM is there. All keys of a curve begin the same, and the lines behind the first one have
// the public key, which is no secret: so the second half of the first line is looked for.
func (all stored) hasPEM(der []byte) bool {
	return all.contains([]byte(base64.StdEncoding.EncodeToString(der)[pemLine/2 : pemLine]))
}

// pemLine is how long a line in PEM is.
const pemLine = 64

// forms are a text as it is, in hexadecimal, and in base64 at each of three places in what is encoded.
func forms(text []byte) [][]byte {
	found := [][]byte{text, []byte(hex.EncodeToString(text))}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), text...))
		// What the bytes before and behind have a part in is left out.
		found = append(found, []byte(encoded[4:len(encoded)-4]))
	}
	return found
}
