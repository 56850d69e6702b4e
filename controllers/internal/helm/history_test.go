package helm

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"helm.sh/helm/v4/pkg/release/common"
)

var shop = Release{Namespace: "customer", Name: "shop"}

// secret is the metadata of a record's Secret.
func secret(version int, status common.Status, label string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name:   shop.SecretName(version),
		Labels: map[string]string{"version": fmt.Sprint(version), "status": status.String(), LabelInputs: label},
	}}
}

func TestAHistoryTellsOurRecordsFromThoseOfOthers(t *testing.T) {
	history := NewHistory(shop, []metav1.PartialObjectMetadata{
		secret(1, common.StatusSuperseded, "aa.v1"),
		// An upgrade by hand copies the labels of the record before it.
		secret(10, common.StatusDeployed, "aa.v1"),
		secret(2, common.StatusSuperseded, "bb.v2"),
		{ObjectMeta: metav1.ObjectMeta{Name: "another", Labels: map[string]string{"version": "3"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: shop.SecretName(4), Labels: map[string]string{"version": "four"}}},
	})
	var got []string
	for _, entry := range history {
		got = append(got, fmt.Sprintf("%d:%s", entry.Version, entry.Inputs))
	}
	if want := "10: 2:bb 1:aa"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if latest := history.Latest(); latest.IsOurs() || latest.Version != 10 {
		t.Errorf("the latest is %+v", latest)
	}
	if back, ok := history.Find("aa"); !ok || back.Version != 1 {
		t.Errorf("found %+v", back)
	}
	if _, ok := history.Find("cc"); ok {
		t.Error("found what is not there")
	}
}

func TestARecordThatTookOverSettlesTheOthers(t *testing.T) {
	history := NewHistory(shop, []metav1.PartialObjectMetadata{
		secret(1, common.StatusDeployed, "aa.v1"),
		secret(2, common.StatusFailed, ""),
		secret(3, common.StatusPendingUpgrade, ""),
		secret(4, common.StatusUninstalling, ""),
		secret(5, common.StatusDeployed, "bb.v5"),
	})
	want := map[int]common.Status{4: common.StatusFailed, 3: common.StatusFailed, 1: common.StatusSuperseded}
	unsettled := history.Unsettled(5)
	if len(unsettled) != len(want) {
		t.Fatalf("unsettled are %+v", unsettled)
	}
	for _, entry := range unsettled {
		if got := settledStatus(entry.Status); got != want[entry.Version] {
			t.Errorf("version %d becomes %s, want %s", entry.Version, got, want[entry.Version])
		}
	}
}

func TestTheHistoryIsBounded(t *testing.T) {
	var secrets []metav1.PartialObjectMetadata
	for version := 1; version <= 8; version++ {
		secrets = append(secrets, secret(version, common.StatusSuperseded, ""))
	}
	var got []int
	for _, entry := range NewHistory(shop, secrets).Outdated(2) {
		got = append(got, entry.Version)
	}
	if fmt.Sprint(got) != "[1 3]" {
		t.Errorf("outdated are %v: the oldest first, and not the one that counts", got)
	}
}

func TestAnUninstalledReleaseIsNotInstalled(t *testing.T) {
	history := NewHistory(shop, []metav1.PartialObjectMetadata{secret(1, common.StatusUninstalled, "")})
	if history.Installed().Version != 0 || history.Latest().Version != 1 {
		t.Errorf("installed is %+v, the latest %+v", history.Installed(), history.Latest())
	}
}

func TestTheNameOfARecordTellsItsRelease(t *testing.T) {
	for name, want := range map[string]string{
		"sh.helm.release.v1.web.v3":                             "a/web",
		"sh.helm.release.v1.web.v2.x.v10":                       "a/web.v2.x",
		"sh.helm.release.v1.web.v03":                            "",
		"sh.helm.release.v1.web.v":                              "",
		"sh.helm.release.v1.web":                                "",
		"sh.helm.release.v1..v1":                                "",
		"sh.helm.release.v1.a,b.v1":                             "",
		"sh.helm.release.v1." + strings.Repeat("x", 54) + ".v1": "",
		"web.v3": "",
	} {
		got := ""
		if release := ReleaseOfRecord("a", name); release != nil {
			got = release.String()
		}
		if got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}

func TestHistoryThatWasSetBack(t *testing.T) {
	deployed := func(version int, inputs string) Entry {
		return Entry{Version: version, Status: common.StatusDeployed, Inputs: inputs}
	}
	superseded := Entry{Version: 1, Status: common.StatusSuperseded, Inputs: "old"}
	for _, row := range []struct {
		name             string
		history          History
		precedes, within bool
		replaced         int
	}{
		{"Nothing", nil, false, false, 0},
		{"TheRecordOfNow", History{deployed(2, "new"), superseded}, false, false, 0},
		{"TheRecordOfNowWasDeleted", History{superseded}, false, false, 0},
		{"BeforeTheUpgrade", History{deployed(1, "old")}, true, false, 1},
		{"InTheUpgrade", History{{Version: 2, Status: common.StatusPendingUpgrade, Inputs: "new"}, deployed(1, "old")}, false, true, 1},
		{"AnUpgradeByHand", History{deployed(3, ""), deployed(2, "new"), superseded}, false, false, 0},
		{"AnUpgradeByHandOfTheOneBefore", History{deployed(2, ""), deployed(1, "old")}, false, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.history.Precedes("new"); got != row.precedes {
				t.Errorf("Precedes is %t", got)
			}
			if got := row.history.IsWithin("new"); got != row.within {
				t.Errorf("IsWithin is %t", got)
			}
			if got := row.history.Replaced("new").Version; got != row.replaced {
				t.Errorf("version %d is replaced, want %d", got, row.replaced)
			}
		})
	}
}
