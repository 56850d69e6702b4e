package rollup

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditionsOfTargetsBecomeOne(t *testing.T) {
	part := func(cluster string, status metav1.ConditionStatus, reason string) Part {
		return Part{cluster, status, reason}
	}
	many := []Part{part("acme/a", "True", "Good")}
	for i := range 7 {
		many = append(many, part(fmt.Sprintf("acme/b%d", i), "False", "Bad"))
	}
	for name, row := range map[string]struct {
		parts                   []Part
		good                    metav1.ConditionStatus
		status, reason, message string
	}{
		"all are good":      {[]Part{part("acme/a", "True", "Good"), part("acme/b", "True", "Better")}, GoodIfTrue, "True", "Good", "in all 2 clusters"},
		"one is not known":  {[]Part{part("acme/a", "True", "Good"), PartOf("acme/b", nil)}, GoodIfTrue, "Unknown", "Progressing", "Unknown in 1 of 2 clusters: acme/b"},
		"one is bad":        {[]Part{PartOf("acme/a", nil), part("acme/b", "False", "Bad")}, GoodIfTrue, "False", "Bad", "False in 1 of 2 clusters: acme/b"},
		"many are bad":      {many, GoodIfTrue, "False", "Bad", "False in 7 of 8 clusters: acme/b0, acme/b1, acme/b2, acme/b3, acme/b4 and 2 more"},
		"False is good":     {[]Part{part("acme/a", "False", "Valid")}, GoodIfFalse, "False", "Valid", "in all 1 clusters"},
		"True is bad, once": {[]Part{part("acme/a", "False", "Valid"), part("acme/b", "True", "Expired")}, GoodIfFalse, "True", "Expired", "True in 1 of 2 clusters: acme/b"},
		"one cluster":       {[]Part{PartOf("acme/a", &metav1.Condition{Status: "True", Reason: "Good"})}, GoodIfTrue, "True", "Good", "in all 1 clusters"},
	} {
		status, reason, message := Condition(row.parts, row.good)
		if string(status) != row.status || reason != row.reason || message != row.message {
			t.Errorf("%s: %s %s %q", name, status, reason, message)
		}
	}
}
