package faults

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Identify returns a rule by which a cluster has another identity, for several that lead to one.
func Identify(as types.UID) Rule {
	return Rule{
		Match: Match{Verbs: []string{"get"}, Resources: []string{"namespaces"}, Names: []string{metav1.NamespaceSystem}},
		Action: func(e Exchange) {
			e.Response.Header().Set("Content-Type", "application/json")
			// Who asked and is gone by now needs no answer.
			_ = json.NewEncoder(e.Response).Encode(&corev1.Namespace{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
				ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: as},
			})
		},
	}
}
