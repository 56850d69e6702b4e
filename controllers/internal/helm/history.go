package helm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"helm.sh/helm/v4/pkg/release/common"
)

// maxName is how long Helm lets the name of a release be, in bytes.
const maxName = 53

// HistoryLimit is how many records of a release are kept.
const HistoryLimit = 5

// LabelInputs marks a record that Daytwo wrote: what it was rendered from, and the record's version. A
// person's upgrade copies the labels of the record before it, and then the version is another.
const LabelInputs = "daytwo.dev/inputs"

// Entry is one record of a release, as the labels of its Secret tell of it.
type Entry struct {
	Version int
	Status  common.Status
	// Inputs is the hash of what Daytwo rendered it from; empty if somebody else wrote it.
	Inputs string
	UID    types.UID
}

// IsOurs is whether Daytwo wrote the record.
func (e Entry) IsOurs() bool { return e.Inputs != "" }

// History is the records of a release, the latest first.
type History []Entry

// Selector selects the records of a release among the Secrets of its namespace.
func (r Release) Selector() string {
	return labels.Set{"owner": "helm", "name": r.Name}.String()
}

// SecretName is the name of the Secret that holds a record.
func (r Release) SecretName(version int) string {
	return fmt.Sprintf("sh.helm.release.v1.%s.v%d", r.Name, version)
}

// ReleaseOfRecord is the release that the Secret of that name keeps a record of; nil if it is no record's name.
func ReleaseOfRecord(namespace, secret string) *Release {
	named, ok := strings.CutPrefix(secret, "sh.helm.release.v1.")
	last := strings.LastIndex(named, ".v")
	if !ok || last <= 0 || namespace == "" {
		return nil
	}
	release := &Release{Namespace: namespace, Name: named[:last]}
	version, err := strconv.Atoi(named[last+2:])
	if err != nil || release.SecretName(version) != secret || len(release.Name) > maxName || len(validation.IsDNS1123Subdomain(release.Name)) > 0 {
		return nil
	}
	return release
}

// NewHistory reads the labels of the Secrets that Selector selects. What is no record is left out.
func NewHistory(release Release, secrets []metav1.PartialObjectMetadata) History {
	var history History
	for i := range secrets {
		secret := &secrets[i]
		version, err := strconv.Atoi(secret.Labels["version"])
		if err != nil || secret.Name != release.SecretName(version) {
			continue
		}
		history = append(history, Entry{
			Version: version, Status: common.Status(secret.Labels["status"]), UID: secret.UID,
			Inputs: inputsOf(secret.Labels[LabelInputs], version),
		})
	}
	slices.SortFunc(history, func(a, b Entry) int { return b.Version - a.Version })
	return history
}

func inputsOf(label string, version int) string {
	inputs, ok := strings.CutSuffix(label, inputsSuffix(version))
	if !ok {
		return ""
	}
	return inputs
}

func inputsSuffix(version int) string { return fmt.Sprintf(".v%d", version) }

// Latest is the record with the highest version; the zero Entry if there is none.
func (h History) Latest() Entry {
	if len(h) == 0 {
		return Entry{}
	}
	return h[0]
}

// Installed is the latest record that says something is installed, or was about to be: what is in the
// cluster because of others is in its manifest. The zero Entry if there is none.
func (h History) Installed() Entry {
	for _, entry := range h {
		if entry.Status != common.StatusUninstalled {
			return entry
		}
	}
	return Entry{}
}

// Find returns the latest of our records, but for the very latest, that was rendered from inputs and was
// deployed at some time.
func (h History) Find(inputs string) (Entry, bool) {
	for i, entry := range h {
		if i > 0 && entry.Inputs == inputs && wasDeployed(entry.Status) {
			return entry, true
		}
	}
	return Entry{}, false
}

// Foreign are the records of others that came after our last one that was deployed, down to the one of
// them that is: what they brought is in the cluster, or may be.
func (h History) Foreign() []Entry {
	var foreign []Entry
	for _, entry := range h {
		switch {
		case entry.IsOurs() && wasDeployed(entry.Status):
			return foreign
		case entry.IsOurs() || entry.Status == common.StatusUninstalled:
		default:
			foreign = append(foreign, entry)
			if entry.Status == common.StatusDeployed {
				return foreign
			}
		}
	}
	return foreign
}

// Precedes is whether the records are of a time before an operation for inputs was begun, as after a restore of the
// cluster's etcd: our latest one is deployed and of other inputs.
func (h History) Precedes(inputs string) bool {
	latest := h.Latest()
	return latest.IsOurs() && latest.Inputs != inputs && latest.Status == common.StatusDeployed
}

// IsWithin is whether the records are of a time in the course of an operation for inputs: our latest one is of these, and
// says that it is under way.
func (h History) IsWithin(inputs string) bool {
	latest := h.Latest()
	return latest.IsOurs() && latest.Inputs == inputs && latest.Status.IsPending()
}

// Replaced is our record of other inputs that is deployed: the operation for inputs takes its place. The zero Entry if
// there is none.
func (h History) Replaced(inputs string) Entry {
	for _, entry := range h {
		if entry.IsOurs() && entry.Status == common.StatusDeployed && entry.Inputs != inputs {
			return entry
		}
	}
	return Entry{}
}

// HasOurs is whether Daytwo wrote any of the records.
func (h History) HasOurs() bool { return slices.ContainsFunc(h, Entry.IsOurs) }

// HasUnlisted is whether there may be objects that only others' records brought.
func (h History) HasUnlisted() bool { return len(h.Foreign()) > 0 }

func wasDeployed(status common.Status) bool {
	return status == common.StatusDeployed || status == common.StatusSuperseded
}

// Unsettled are the records beside one that claim to be deployed, or to be under way. They are nobody's
// any more once that one is deployed.
func (h History) Unsettled(beside int) []Entry {
	return slices.DeleteFunc(slices.Clone(h), func(entry Entry) bool {
		return entry.Version == beside || entry.Status != common.StatusDeployed && !isUnderWay(entry.Status)
	})
}

// Outdated are the records beyond HistoryLimit, the oldest first. The one at version stays in any case.
func (h History) Outdated(version int) []Entry {
	var outdated []Entry
	for i, entry := range h {
		if i >= HistoryLimit && entry.Version != version {
			outdated = append(outdated, entry)
		}
	}
	slices.Reverse(outdated)
	return outdated
}

func isUnderWay(status common.Status) bool {
	return status.IsPending() || status == common.StatusUninstalling
}

// settledStatus is what becomes of a record that another one takes over from.
func settledStatus(status common.Status) common.Status {
	if isUnderWay(status) {
		return common.StatusFailed
	}
	return common.StatusSuperseded
}
