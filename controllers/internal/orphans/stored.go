package orphans

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Bounds of single fields, in bytes. A holder is a kind and two names of Kubernetes, an ID a kind, its group
// and two names; a UID is 36.
const (
	maxHolder = 640
	maxID     = 1024
	maxUID    = 64
	maxWhy    = 1024
	// maxMore is more objects than any release has.
	maxMore = 1_000_000
	// maxObjects are as many as an inventory may have, and the records of a Helm release.
	maxObjects = 2_100
)

// record is an entry as it is stored.
type record struct {
	Cluster   string    `json:"cluster"`
	ClusterID string    `json:"clusterID,omitempty"`
	Holder    string    `json:"holder"`
	Why       string    `json:"why"`
	At        time.Time `json:"at"`
	More      int       `json:"more,omitempty"`
	Objects   []Object  `json:"objects"`
}

// encode writes an entry for people to read: a field a line, an object a line.
func encode(e Entry) (string, error) {
	e = e.tidy()
	head, err := json.MarshalIndent(record{
		Cluster: e.Cluster.String(), ClusterID: e.ClusterID, Holder: e.Holder, Why: e.Why, At: e.At, More: e.More, Objects: []Object{},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	lines := make([]string, len(e.Objects))
	for i, object := range e.Objects {
		line, err := json.Marshal(object)
		if err != nil {
			return "", err
		}
		lines[i] = "\n    " + string(line)
	}
	const empty = `"objects": []`
	text := strings.TrimSuffix(string(head), empty+"\n}")
	return text + `"objects": [` + strings.Join(lines, ",") + "\n  ]\n}\n", nil
}

// tidy brings an entry into the form that it has when it is read again.
func (e Entry) tidy() Entry {
	e.At = e.At.UTC().Truncate(time.Second)
	e.Why = bounded(e.Why, maxWhy)
	kept := make([]Object, 0, len(e.Objects))
	for _, object := range e.Objects {
		object.Why = bounded(object.Why, maxWhy)
		if object.check() != nil {
			e.More++
			continue
		}
		kept = append(kept, object)
	}
	slices.SortFunc(kept, byID)
	if excess := len(kept) - maxObjects; excess > 0 {
		kept, e.More = kept[:maxObjects], e.More+excess
	}
	e.Objects = kept
	return e
}

// decode reads what stands below a key, whoever wrote it.
func decode(key, content string) (Entry, error) {
	var stored record
	decoder := json.NewDecoder(bytes.NewReader([]byte(content)))
	if err := decoder.Decode(&stored); err != nil {
		return Entry{}, err
	}
	namespace, name, _ := strings.Cut(stored.Cluster, "/")
	entry := Entry{
		Cluster: types.NamespacedName{Namespace: namespace, Name: name}, ClusterID: stored.ClusterID, Holder: stored.Holder,
		Objects: stored.Objects, More: stored.More, Why: stored.Why, At: stored.At.UTC().Truncate(time.Second), at: key,
	}
	slices.SortFunc(entry.Objects, byID)
	return entry, entry.check()
}

// check refuses what no entry of ours has.
func (e Entry) check() error {
	problems := append(validation.IsDNS1123Label(e.Cluster.Namespace), validation.IsDNS1123Subdomain(e.Cluster.Name)...)
	if len(problems) > 0 {
		return errors.New("cluster is not namespace/name")
	}
	if e.More < 0 || e.More > maxMore {
		return fmt.Errorf("more is not from 0 to %d", maxMore)
	}
	if year := e.At.UTC().Year(); year < 1 || year > 9999 {
		return errors.New("at is at no time that can be written in UTC")
	}
	if len(e.Objects) > maxObjects {
		return fmt.Errorf("objects are more than %d", maxObjects)
	}
	err := errors.Join(plain("clusterID", e.ClusterID, maxUID), plain("holder", e.Holder, maxHolder), plain("why", e.Why, maxWhy))
	for _, object := range e.Objects {
		err = errors.Join(err, object.check())
	}
	return err
}

func (o Object) check() error {
	return errors.Join(plain("id", o.ID, maxID), plain("uid", string(o.UID), maxUID), plain("why", o.Why, maxWhy))
}

// plain refuses what would not do in a message.
func plain(field, text string, most int) error {
	if len(text) > most || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("%s has more than %d bytes, or is no plain text", field, most)
	}
	return nil
}

// bounded makes plain text of at most so many bytes.
func bounded(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	text = text[:most-len(ellipsis)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + ellipsis
}

// UnmarshalJSON also takes a plain string, an ID.
func (o *Object) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &o.ID)
	}
	type plainly Object
	return json.Unmarshal(data, (*plainly)(o))
}
