// Package evidence is what a drill proves, in a form that an auditor can keep: JSON documents, each of which holds the hash of
// the one before it. With the newest hash, which the manager keeps in a status that nobody else writes, a chain of documents
// is checked without a network: none was changed, and none is missing.
package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version of the form of documents.
const Version = "evidence.daytwo.dev/v1"

// Document is what one drill proves.
type Document struct {
	Version string `json:"version"`
	// Previous is the hash of the document before this one, of the same backups; empty for the first.
	Previous string `json:"previous"`
	Drill    Drill  `json:"drill"`
	Backup   Backup `json:"backup"`
	Restored Target `json:"restored"`
	// Verdict is Passed, Failed or Inconclusive.
	Verdict string  `json:"verdict"`
	Checks  []Check `json:"checks"`
	// DataAge, RestoreTime and RecoveryTime are as measured, and RPO and RTO what they are measured against; empty for what
	// is not known or not set.
	DataAge      string `json:"dataAge,omitempty"`
	RestoreTime  string `json:"restoreTime,omitempty"`
	RecoveryTime string `json:"recoveryTime,omitempty"`
	RPO          string `json:"rpo,omitempty"`
	RTO          string `json:"rto,omitempty"`
	// Timeline has the steps of the drill in their order.
	Timeline []Step `json:"timeline"`
}

// Drill is the DRDrill.
type Drill struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Policy    string `json:"policy"`
	// Mode is Rehearse or Recover, and RequestedBy who asked for a recovery, by the name that the API server knew.
	Mode        string    `json:"mode,omitempty"`
	RequestedBy string    `json:"requestedBy,omitempty"`
	StartedAt   time.Time `json:"startedAt"`
}

// Backup is what was restored.
type Backup struct {
	// Cluster is the TenantCluster that was backed up.
	Cluster string `json:"cluster"`
	// Name, TakenAt, Items and Prefix are empty if there was no backup to restore.
	Name    string     `json:"name,omitempty"`
	TakenAt *time.Time `json:"takenAt,omitempty"`
	Items   int64      `json:"items,omitempty"`
	Prefix  string     `json:"prefix,omitempty"`
}

// Target is where it was restored.
type Target struct {
	Cluster string `json:"cluster"`
	// ClusterID is the identity of the cluster; empty if nothing was made there.
	ClusterID string `json:"clusterID,omitempty"`
	Mode      string `json:"mode"`
	// Namespaces are the names in the cluster by those in the backup.
	Namespaces map[string]string `json:"namespaces,omitempty"`
	// LeftOut are resources of the backup that were not restored.
	LeftOut []string `json:"leftOut,omitempty"`
}

// Check is one check and what came of it.
type Check struct {
	Name    string `json:"name"`
	Result  string `json:"result"`
	Message string `json:"message,omitempty"`
}

// Step is one step of the drill.
type Step struct {
	Name      string     `json:"name"`
	Object    string     `json:"object,omitempty"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Outcome   string     `json:"outcome,omitempty"`
}

// Encode returns the bytes of a document, which are the same each time.
func (d Document) Encode() ([]byte, error) {
	d.Version = Version
	body, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the evidence of DRDrill %s/%s: %w", d.Drill.Namespace, d.Drill.Name, err)
	}
	return append(body, '\n'), nil
}

// Hash is the SHA-256 of the bytes of a document, in hex.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// File is the bytes of a document, and what they are called.
type File struct {
	Name    string
	Content []byte
}

// Link is a document of a chain that holds.
type Link struct {
	Document
	Hash string
	File string
}

// Verify checks that files are the whole chain that ends with a hash, and returns it, the oldest first. The error says which
// document was changed, is missing or does not belong to it.
func Verify(head string, files []File) ([]Link, error) {
	byHash := map[string]Link{}
	for _, file := range files {
		link := Link{Hash: Hash(file.Content), File: file.Name}
		if err := decode(file, &link.Document); err != nil {
			return nil, err
		}
		if twin, there := byHash[link.Hash]; there {
			return nil, fmt.Errorf("%s is the same document as %s: leave out one of them", file.Name, twin.File)
		}
		byHash[link.Hash] = link
	}
	var chain []Link
	for at := head; at != ""; {
		link, found := byHash[at]
		if !found {
			return nil, missing(at, chain)
		}
		delete(byHash, at)
		chain = append([]Link{link}, chain...)
		at = link.Previous
	}
	for _, link := range byHash {
		return nil, fmt.Errorf("%s does not belong to the chain that ends with %s: it was changed, or is of other backups", link.File, head)
	}
	return chain, nil
}

func decode(file File, into *Document) error {
	decoder := json.NewDecoder(bytes.NewReader(file.Content))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more follows after the document")
		}
	}
	if err == nil && into.Version != Version {
		err = fmt.Errorf("its version is %q, and this program knows %s", into.Version, Version)
	}
	if err != nil {
		return fmt.Errorf("%s is no evidence of a drill: %w", file.Name, err)
	}
	return nil
}

// missing says what is wrong where a document is not there.
func missing(hash string, after []Link) error {
	if len(after) == 0 {
		return fmt.Errorf("no file has the hash %s: the newest document is missing, or was changed", hash)
	}
	return fmt.Errorf("the document before %s is missing, or was changed: no file has the hash %s", after[0].File, hash)
}
