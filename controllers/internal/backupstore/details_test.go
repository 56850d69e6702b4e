package backupstore

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const nightly = "/b/daytwo/prod/backups/nightly/nightly"

func packed(t *testing.T, content string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sizes is the listing of a backup with objects of these sizes.
func sizes(truncated bool, list ...int64) func(string) string {
	out := strings.Builder{}
	fmt.Fprintf(&out, `<ListBucketResult><IsTruncated>%t</IsTruncated>`, truncated)
	for i, size := range list {
		fmt.Fprintf(&out, `<Contents><Key>daytwo/prod/backups/nightly/%d</Key><Size>%d</Size></Contents>`, i, size)
	}
	return func(string) string { return out.String() + `</ListBucketResult>` }
}

func TestDetailsOfABackup(t *testing.T) {
	b := newBucket(t)
	b.listing = sizes(false, 700, 300)
	b.objects[nightly+"-results.gz"] = packed(t, `{"errors":{"namespaces":{"shop":["no\u001b[31m\nsuch pod"]}},"warnings":{"velero":["slow"]}}`)
	b.objects[nightly+"-volumeinfo.json.gz"] = packed(t, `[
		{"pvcName":"data","pvcNamespace":"shop","pvName":"pv-1","skipped":true,"skippedReason":"no driver"},
		{"pvcName":"logs","pvcNamespace":"shop","backupMethod":"PodVolumeBackup","result":"succeeded","pvbInfo":{"size":7}}
	]`)
	got, err := b.open(t).Details(t.Context(), "nightly")
	want := Details{
		Bytes: 1000, Problems: []Problem{{Origin: "shop", Words: "no [31m such pod"}, {Origin: "velero", Words: "slow", IsWarning: true}},
		Volumes: &Volumes{Total: 2, Covered: 1, InRepository: 1, Uncovered: []Volume{{"shop/data", "no driver"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestABackupOfWhichVeleroWroteNothingMore(t *testing.T) {
	b := newBucket(t)
	b.listing = sizes(false, 5)
	got, err := b.open(t).Details(t.Context(), "nightly")
	if err != nil || got.Bytes != 5 || got.Problems != nil || got.Volumes != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestProblemsOfABackup(t *testing.T) {
	for name, row := range map[string]struct {
		content string
		want    string
	}{
		"none":                        {`{"errors":{},"warnings":{}}`, ""},
		"nothing at all":              {`{"errors":null}`, ""},
		"errors come first":           {`{"warnings":{"cluster":["w"]},"errors":{"velero":["v"],"cluster":["c"],"namespaces":{"a":["1","2"]}}}`, "velero:v cluster:c a:1 a:2 warning:cluster:w"},
		"five are enough":             {`{"errors":{"namespaces":{"a":["1","2","3","4","5","6"]}},"warnings":{"velero":["w"]}}`, "a:1 a:2 a:3 a:4 a:5"},
		"other fields are passed by":  {`{"more":[["x"],{"velero":["y"]}],"errors":{"odd":{"a":["z"]},"velero":[1,{"velero":["n"]},"v"],"namespaces":["x"]}}`, "velero:v"},
		"a namespace called as other": {`{"errors":{"namespaces":{"velero":["v"],"namespaces":["n"]}}}`, "velero:v namespaces:n"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := readProblems(strings.NewReader(row.content))
			var got []string
			for _, one := range found {
				text := one.Origin + ":" + one.Words
				if one.IsWarning {
					text = "warning:" + text
				}
				got = append(got, text)
			}
			if text := strings.Join(got, " "); err != nil || text != row.want {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

func TestVolumesOfABackup(t *testing.T) {
	for name, row := range map[string]struct {
		content string
		want    Volumes
	}{
		"none":                   {`[]`, Volumes{}},
		"in a repository":        {`[{"pvName":"a","backupMethod":"PodVolumeBackup"},{"pvName":"a","backupMethod":"PodVolumeBackup"},{"pvName":"b","backupMethod":"CSISnapshot","snapshotDataMoved":true},{"pvName":"c","backupMethod":"CSISnapshot"}]`, Volumes{Total: 3, Covered: 3, InRepository: 2}},
		"skipped for no reason":  {`[{"pvName":"pv-1","skipped":true}]`, Volumes{Total: 1, Uncovered: []Volume{{"pv-1", "Velero skipped it"}}}},
		"without a method":       {`[{"pvcName":"data","pvcNamespace":"shop"}]`, Volumes{Total: 1, Uncovered: []Volume{{"shop/data", "Velero names no method by which it was backed up"}}}},
		"failed":                 {`[{"pvName":"pv-1","backupMethod":"PodVolumeBackup","result":"failed"}]`, Volumes{Total: 1, Uncovered: []Volume{{"pv-1", "PodVolumeBackup failed"}}}},
		"a name stays as it is":  {`[{"pvName":"pv-0xabcdef012345","skipped":true}]`, Volumes{Total: 1, Uncovered: []Volume{{"pv-0xabcdef012345", "Velero skipped it"}}}},
		"a snapshot":             {`[{"pvName":"pv-1","backupMethod":"CSISnapshot"}]`, Volumes{Total: 1, Covered: 1}},
		"of two pods":            {`[{"pvName":"a","backupMethod":"CSISnapshot"},{"pvName":"a","skipped":true},{"pvName":"b","skipped":true},{"pvName":"b","backupMethod":"X"}]`, Volumes{Total: 2, Covered: 2}},
		"of a pod alone":         {`[{"backupMethod":"PodVolumeBackup","result":"failed"}]`, Volumes{}},
		"five of many are named": {`[{"pvName":"7"},{"pvName":"6"},{"pvName":"5"},{"pvName":"4"},{"pvName":"3"},{"pvName":"2"}]`, Volumes{Total: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readVolumes(strings.NewReader(row.content))
			if err != nil {
				t.Fatal(err)
			}
			if row.want.Total == 6 {
				if len(got.Uncovered) != 5 || got.Uncovered[0].Name != "2" || got.Uncovered[4].Name != "6" {
					t.Errorf("named are %+v", got.Uncovered)
				}
				got.Uncovered = nil
			}
			if !reflect.DeepEqual(*got, row.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Whoever has rights in the cluster or in the bucket has it answer what Velero never writes.
func TestDetailsThatCannotBeRead(t *testing.T) {
	few := sizes(false, 5)
	for name, row := range map[string]struct {
		backup  string
		listing func(string) string
		files   map[string]string
		want    string
	}{
		"a name that leads elsewhere": {"../other", few, nil, `"../other" is no name of a backup`},
		"very many objects":           {"nightly", sizes(true, 5), nil, "has more than 1000 objects"},
		"impossible sizes":            {"nightly", sizes(false, 1<<62, 1<<62), nil, "impossible sizes"},
		"results that are none":       {"nightly", few, map[string]string{"-results.gz": "<html>"}, "-results.gz in bucket b cannot be read"},
		"results of another form":     {"nightly", few, map[string]string{"-results.gz": packed(t, `["x"]`)}, "it holds no results of a backup"},
		"results that end early":      {"nightly", few, map[string]string{"-results.gz": packed(t, `{"errors":{`)}, "cannot be read"},
		"results that are very deep":  {"nightly", few, map[string]string{"-results.gz": packed(t, `{"errors":`+strings.Repeat("[", 100))}, "it holds no results of a backup"},
		"a bomb":                      {"nightly", few, map[string]string{"-results.gz": packed(t, `{"errors":{`+strings.Repeat(" ", maxDetailsUnpacked))}, "has more than 8388608 bytes"},
		"a large file":                {"nightly", few, map[string]string{"-volumeinfo.json.gz": packed(t, "[") + strings.Repeat("x", maxDetails)}, "cannot be read"},
		"volumes of another form":     {"nightly", few, map[string]string{"-volumeinfo.json.gz": packed(t, `{}`)}, "it holds no list of volumes"},
		"a volume of another form":    {"nightly", few, map[string]string{"-volumeinfo.json.gz": packed(t, `[{"skipped":"yes"}]`)}, "cannot be read"},
		"too many volumes":            {"nightly", few, map[string]string{"-volumeinfo.json.gz": packed(t, manyVolumes(maxVolumes+1))}, "more than 10000 volumes"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			b.listing = row.listing
			for file, content := range row.files {
				b.objects[nightly+file] = content
			}
			if _, err := b.open(t).Details(t.Context(), row.backup); !IsUnreadable(err) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	b := newBucket(t)
	b.listing = sizes(false)
	if _, err := b.open(t).Details(t.Context(), "nightly"); !IsNotFound(err) {
		t.Errorf("of a backup that is not there: %v", err)
	}
}

func manyVolumes(count int) string {
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(`{"pvName":"%d"}`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestLongWordsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	found, err := readProblems(strings.NewReader(`{"errors":{"namespaces":{"` + long + `":["` + long + `"]}}}`))
	if err != nil || len(found) != 1 || len(found[0].Words) > maxWords+3 || len(found[0].Origin) > maxOrigin+3 {
		t.Errorf("got %d, %v", len(found), err)
	}
	volumes, err := readVolumes(strings.NewReader(`[{"pvName":"` + long + `","skipped":true,"skippedReason":"` + long + `"}]`))
	if err != nil || len(volumes.Uncovered[0].Name) > maxVolumeName+3 || len(volumes.Uncovered[0].Reason) > maxReason+3 {
		t.Errorf("got %v", err)
	}
}
