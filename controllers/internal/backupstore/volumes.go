package backupstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// maxVolumes is how many volumes of a backup are read.
	maxVolumes = 10_000
	// maxUncovered is how many of those are named that the backup has no data of.
	maxUncovered = 5
	// maxVolumeName is how long the name of a volume is, and maxReason why its data was left out, in bytes without the sign of
	// what was cut.
	maxVolumeName = 317
	maxReason     = 200
)

// Volumes are those that a backup came across.
type Volumes struct {
	// Total is how many there are, and Covered of how many the backup has the data.
	Total, Covered int
	// InRepository is of how many of these Velero keeps the data in a repository of its own, encrypted with its password.
	InRepository int
	// Uncovered are the others, by name, at most 5.
	Uncovered []Volume
}

// Volume is one that a backup has no data of.
type Volume struct {
	// Name is namespace and name of the claim, as in "shop/data", or else the name of the PersistentVolume.
	Name string
	// Reason is why; never empty.
	Reason string
}

// volumeInfo is what Velero tells of a volume, by internal/volume of Velero 1.18.
type volumeInfo struct {
	PVCName       string `json:"pvcName"`
	PVCNamespace  string `json:"pvcNamespace"`
	PVName        string `json:"pvName"`
	BackupMethod  string `json:"backupMethod"`
	Skipped       bool   `json:"skipped"`
	SkippedReason string `json:"skippedReason"`
	Result        string `json:"result"`
	// DataMoved: the snapshot was copied into a repository.
	DataMoved bool `json:"snapshotDataMoved"`
}

// podVolumeBackup is the method by which a node agent copies the files of a volume into a repository.
const podVolumeBackup = "PodVolumeBackup"

func (v volumeInfo) isInRepository() bool {
	return v.whyUncovered() == "" && (v.DataMoved || v.BackupMethod == podVolumeBackup)
}

// volumeFailed is the result of a volume whose data could not be backed up. Velero gives some methods no result.
const volumeFailed = "failed"

// readVolumes reads an array of volumes. A volume that several pods use is in it several times: one that has data is enough.
func readVolumes(content io.Reader) (*Volumes, error) {
	list := json.NewDecoder(content)
	if first, err := list.Token(); err != nil || first != json.Delim('[') {
		return nil, cannotRead(err, errors.New("it holds no list of volumes"))
	}
	why := map[string]string{} // Why a volume has no data; empty for one that has.
	inRepository := map[string]bool{}
	for list.More() {
		var one volumeInfo
		if err := list.Decode(&one); err != nil {
			return nil, err
		}
		name := one.name()
		if name == "" { // A volume of a pod that goes with the pod.
			continue
		}
		if before, found := why[name]; !found || before != "" {
			why[name] = one.whyUncovered()
		}
		if one.isInRepository() {
			inRepository[name] = true
		}
		if len(why) > maxVolumes {
			return nil, fmt.Errorf("it tells of more than %d volumes", maxVolumes)
		}
	}
	if _, err := list.Token(); err != nil {
		return nil, err
	}
	volumes := volumesOf(why)
	volumes.InRepository = len(inRepository)
	return volumes, nil
}

func volumesOf(why map[string]string) *Volumes {
	volumes := &Volumes{Total: len(why)}
	for name, reason := range why {
		if reason == "" {
			volumes.Covered++
			continue
		}
		volumes.Uncovered = append(volumes.Uncovered, Volume{Name: name, Reason: reason})
	}
	slices.SortFunc(volumes.Uncovered, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	volumes.Uncovered = slices.Clip(volumes.Uncovered[:min(len(volumes.Uncovered), maxUncovered)])
	return volumes
}

func (v volumeInfo) name() string {
	name := v.PVName
	if v.PVCName != "" {
		name = v.PVCNamespace + "/" + v.PVCName
	}
	return oneName(name, maxVolumeName)
}

// whyUncovered says why the backup has no data of a volume; empty if it has.
func (v volumeInfo) whyUncovered() string {
	switch {
	case v.Skipped:
		return cmp.Or(oneLine(v.SkippedReason, maxReason), "Velero skipped it")
	case v.BackupMethod == "":
		return "Velero names no method by which it was backed up"
	case v.Result == volumeFailed:
		return oneLine(v.BackupMethod, maxReason) + " failed"
	}
	return ""
}
