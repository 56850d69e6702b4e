package rotation

import (
	"bytes"
	"compress/flate"
	"reflect"
	"strings"
	"testing"

	"github.com/daytwo-dev/daytwo/controllers/internal/policy/rollout"
)

func keys(names ...string) (list []rollout.ClusterKey) {
	for _, name := range names {
		namespace, name, _ := strings.Cut(name, "/")
		list = append(list, rollout.ClusterKey{Namespace: namespace, Name: name})
	}
	return list
}

func TestAMembershipIsReadAsItWasStored(t *testing.T) {
	for _, set := range []Membership{
		{}, Membership{}.with(keys("a/b")), Membership{}.with(keys("b/a", "a/b", "a-b/c", "a/b")).without(keys("a/b", "x/y")),
	} {
		encoded, err := set.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := DecodeMembership(encoded)
		if err != nil || !reflect.DeepEqual(decoded.Reference(), set.Reference()) || decoded.Len() != set.Len() {
			t.Errorf("%+v became %+v, %v", set, decoded, err)
		}
	}
}

func TestAMembershipOnlyGrows(t *testing.T) {
	set := Membership{}.with(keys("a/b", "a/c"))
	gone := set.without(keys("a/b"))
	if _, isGone := set.Has(keys("a/b")[0]); isGone {
		t.Error("a value changed")
	}
	if member, isGone := gone.Has(keys("a/b")[0]); !member || !isGone || gone.Len() != 2 || gone.Reference() == set.Reference() {
		t.Errorf("%+v", gone)
	}
	if back := gone.with(keys("a/b")); back.Reference() != set.Reference() {
		t.Errorf("%+v", back)
	}
}

func TestWhatIsNoMembershipIsRefused(t *testing.T) {
	packed := func(text string) []byte {
		buffer := bytes.NewBuffer([]byte{membershipFormat})
		writer, _ := flate.NewWriter(buffer, flate.DefaultCompression)
		_, _ = writer.Write([]byte(text))
		_ = writer.Close()
		return buffer.Bytes()
	}
	for name, encoded := range map[string][]byte{
		"nothing": nil, "another form": []byte("2abc"), "no deflate": []byte("1abc"), "no slash": packed("ab\n"), "no name": packed("a/\n"),
		"no namespace": packed("/a\n"), "two slashes": packed("a/b/c\n"), "a blank": packed("a/b c\n"), "cut short": packed("a/b"),
		"out of order": packed("b/a\na/b\n"), "twice": packed("a/b\n-a/b\n"), "a long name": packed("a/" + strings.Repeat("b", 254) + "\n"),
		"a bomb": packed(strings.Repeat("a", MaxMembershipBytes+1)),
	} {
		if decoded, err := DecodeMembership(encoded); err == nil {
			t.Errorf("%s: %+v", name, decoded)
		}
	}
}
