package orphans

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenancyv1alpha1 "github.com/daytwo-dev/daytwo/apis/tenancy/v1alpha1"
)

func specOf(release string, objects ...tenancyv1alpha1.OrphanObject) tenancyv1alpha1.OrphanRecordSpec {
	return tenancyv1alpha1.OrphanRecordSpec{
		ClusterName: "prod", ClusterID: "id-1", Objects: objects, Reason: tenancyv1alpha1.OrphanUnreachable, Message: "no answer",
		Owner: tenancyv1alpha1.OrphanOwner{Group: "addons.daytwo.dev", Kind: "AddonRelease", Namespace: "acme", Name: release},
	}
}

func TestTheSameIsRecordedUnderTheSameName(t *testing.T) {
	first := nameOf(specOf("a"))
	same := specOf("a", tenancyv1alpha1.OrphanObject{ID: "v1/Service/web/a"})
	same.Reason = tenancyv1alpha1.OrphanTimedOut
	if got := nameOf(same); got != first {
		t.Errorf("for another reason it is %s, and not %s", got, first)
	}
	kept, elsewhere := specOf("a"), specOf("a")
	kept.Reason, elsewhere.ClusterID = tenancyv1alpha1.OrphanKept, "id-2"
	for what, other := range map[string]tenancyv1alpha1.OrphanRecordSpec{"another release": specOf("b"), "another part": kept, "another cluster": elsewhere} {
		if nameOf(other) == first {
			t.Errorf("%s has the same name", what)
		}
	}
}

func TestARecordJoinsWhatIsStored(t *testing.T) {
	a, b, c := tenancyv1alpha1.OrphanObject{ID: "v1/Service/web/a"}, tenancyv1alpha1.OrphanObject{ID: "v1/Service/web/b"}, tenancyv1alpha1.OrphanObject{ID: "v1/Service/web/c"}
	for _, row := range []struct {
		name          string
		spec, before  tenancyv1alpha1.OrphanRecordSpec
		listed, count int
	}{
		{"AllOfBoth", specOf("a", a, b), specOf("a", b, c), 3, 3},
		{"TheSame", specOf("a", a), specOf("a", a), 1, 1},
		{"WhatIsOnlyCountedStaysCounted", specOf("a", a), tenancyv1alpha1.OrphanRecordSpec{MoreObjects: 5}, 1, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			join(&row.spec, row.before)
			if len(row.spec.Objects) != row.listed || Count(row.spec) != row.count {
				t.Errorf("%d are listed, and %d counted: %+v", len(row.spec.Objects), Count(row.spec), row.spec)
			}
		})
	}
}

func TestARecordStaysWithinItsBounds(t *testing.T) {
	spec := specOf("a")
	for i := range 3000 {
		spec.Objects = append(spec.Objects, tenancyv1alpha1.OrphanObject{
			ID: fmt.Sprintf("v1/ConfigMap/%s/%04d", strings.Repeat("n", 900), i), UID: "uid", Message: strings.Repeat("ä", 400),
		})
	}
	spec.Objects = append(spec.Objects, tenancyv1alpha1.OrphanObject{ID: strings.Repeat("x", maxID+1)})
	spec.Message = strings.Repeat("m", 5000)
	record := newRecord("acme", spec)
	text, err := json.Marshal(record)
	if err != nil || len(text) > maxBytes+4096 {
		t.Errorf("it has %d bytes, %v", len(text), err)
	}
	if len(record.Spec.Objects) == 0 || len(record.Spec.Objects) > tenancyv1alpha1.MaxOrphanObjects || Count(record.Spec) != 3001 || record.Status.Objects != 3001 {
		t.Errorf("%d are listed, %d counted, the status says %d", len(record.Spec.Objects), Count(record.Spec), record.Status.Objects)
	}
	if len([]rune(record.Spec.Message)) > 1024 {
		t.Errorf("the message has %d characters", len([]rune(record.Spec.Message)))
	}

	few := newRecord("acme", specOf("a", tenancyv1alpha1.OrphanObject{ID: "v1/Service/a/b", Message: strings.Repeat("m", 5000)}))
	if got := len([]rune(few.Spec.Objects[0].Message)); got == 0 || got > 256 {
		t.Errorf("the message of an object has %d characters", got)
	}
}

func TestADescriptionNamesTheFirstObjects(t *testing.T) {
	spec := specOf("a")
	for i := range 7 {
		spec.Objects = append(spec.Objects, tenancyv1alpha1.OrphanObject{ID: fmt.Sprintf("v1/Service/a/%d", i)})
	}
	spec.MoreObjects = 10
	const want = "v1/Service/a/0, v1/Service/a/1, v1/Service/a/2, v1/Service/a/3, v1/Service/a/4 and 12 more"
	if got := Describe(spec); got != want {
		t.Errorf("it says %s", got)
	}
}

func TestADescriptionIsNotLong(t *testing.T) {
	first, second := strings.Repeat("a", 256), strings.Repeat("b", 254)
	for name, test := range map[string]struct {
		ids  []string
		want string
	}{
		"as long as it may be":           {[]string{first, second}, first + ", " + second},
		"longer by one":                  {[]string{first, second + "b"}, first + " and 1 more"},
		"the first of all is longer yet": {[]string{strings.Repeat("a", 600), "b"}, strings.Repeat("a", 509) + "… and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf("a")
			for _, id := range test.ids {
				spec.Objects = append(spec.Objects, tenancyv1alpha1.OrphanObject{ID: id})
			}
			if got := Describe(spec); got != test.want {
				t.Errorf("it says %s", got)
			}
		})
	}
}

func TestTheOldestComesFirst(t *testing.T) {
	old, young := tenancyv1alpha1.OrphanRecord{}, tenancyv1alpha1.OrphanRecord{}
	old.CreationTimestamp, young.CreationTimestamp = metav1.Unix(100, 0), metav1.NewTime(time.Unix(200, 0))
	if ByAge(old, young) >= 0 || ByAge(young, old) <= 0 {
		t.Error("the younger comes first")
	}
}
