package render

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/daytwo-dev/daytwo/controllers/internal/render/manifest"
)

const (
	// maxRecord is the most bytes of a record as Helm's driver stores it, packed and in base64. A
	// Secret holds 1 MiB; the rest is for what the release's course adds.
	maxRecord = 1_000_000
	// maxRecordJSON is the most bytes of a record before it is packed: it is unpacked by whoever
	// reads it, and the manager holds it as it is.
	maxRecordJSON = 16 << 20
)

// record is what Helm would store of a release that it is about to install.
func (r *rendering) record(c *chart.Chart, result rendered) *release.Release {
	var manifest strings.Builder
	for _, m := range result.manifests {
		fmt.Fprintf(&manifest, "---\n# Source: %s\n%s", m.Name, recordedContent(m))
	}
	return &release.Release{
		Name: r.release.Name, Namespace: r.release.Namespace, Version: r.release.Revision,
		Info: &release.Info{Notes: result.notes}, Chart: c, Config: r.config,
		Manifest: manifest.String(), Hooks: result.hooks,
		ApplyMethod: string(release.ApplyMethodServerSideApply),
	}
}

// recordedContent is a manifest as it is in the record, from which Helm applies it.
func recordedContent(m releaseutil.Manifest) string { return m.Content + "\n" }

// encodeRecord leaves out parts of the chart only where the record would be too large. What uses a
// record, such as a rollback or an upgrade with --reuse-values, needs neither.
func encodeRecord(complete *release.Release) (json.RawMessage, *manifest.Error) {
	for _, lighten := range []func(*chart.Chart){
		func(*chart.Chart) {},
		func(c *chart.Chart) { c.Files = nil },
		func(c *chart.Chart) { c.Files, c.Templates, c.Schema = nil, nil, nil },
	} {
		lightened, stored := *complete.Chart, *complete
		lighten(&lightened)
		stored.Chart = &lightened
		if leastJSON(&stored) > maxRecordJSON {
			continue
		}
		encoded, err := json.Marshal(&stored)
		if err != nil {
			return nil, manifest.ValuesInvalidf("the release cannot be recorded, as its values hold what JSON cannot: look for .inf and .nan")
		}
		if len(encoded) <= maxRecordJSON && fits(encoded) {
			return encoded, nil
		}
	}
	return nil, &manifest.Error{Reason: manifest.RecordTooLarge, Message: fmt.Sprintf("Helm's record of the release %s does not fit into a Secret (%d bytes packed, %s unpacked), "+
		"even without the files and templates of the chart: turn off parts of the chart, or split the add-on", complete.Name, maxRecord, size(maxRecordJSON))}
}

// leastJSON is less than the length of a record as JSON, and costs nothing.
func leastJSON(r *release.Release) int {
	length := len(r.Manifest) + base64.StdEncoding.EncodedLen(len(r.Chart.Schema))
	for _, files := range [][]*common.File{r.Chart.Files, r.Chart.Templates} {
		for _, file := range files {
			length += base64.StdEncoding.EncodedLen(len(file.Data))
		}
	}
	return length
}

// fits reports whether a record is small enough as Helm's driver stores it, which packs it as well
// as gzip can. That takes longer than the rendering, and is done only where it decides.
func fits(encoded []byte) bool {
	if base64.StdEncoding.EncodedLen(len(encoded)) <= maxRecord {
		return true
	}
	return fitsPacked(encoded, gzip.BestSpeed) || fitsPacked(encoded, gzip.BestCompression)
}

func fitsPacked(encoded []byte, level int) bool {
	room := roomFor(base64.StdEncoding.DecodedLen(maxRecord))
	packer, err := gzip.NewWriterLevel(&room, level)
	if err != nil {
		return false
	}
	if _, err := packer.Write(encoded); err != nil {
		return false
	}
	return packer.Close() == nil
}

// roomFor takes that many bytes and no more.
type roomFor int

var errNoRoom = errors.New("no room")

func (r *roomFor) Write(p []byte) (int, error) {
	if *r -= roomFor(len(p)); *r < 0 {
		return 0, errNoRoom
	}
	return len(p), nil
}
