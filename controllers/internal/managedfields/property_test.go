package managedfields

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// builtIn are kinds with the places, beside metadata, in which a program may add.
var builtIn = map[string][]string{
	"Deployment.apps":                       nil,
	"StatefulSet.apps":                      nil,
	"DaemonSet.apps":                        nil,
	"Job.batch":                             nil,
	"CronJob.batch":                         nil,
	"ConfigMap":                             {`"f:data":{"f:%s":{}}`, `"f:binaryData":{".":{},"f:%s":{}}`},
	"Secret":                                {`"f:data":{".":{},"f:%s":{}}`},
	"PersistentVolumeClaim":                 nil,
	"NetworkPolicy.networking.k8s.io":       nil,
	"PodDisruptionBudget.policy":            nil,
	"HorizontalPodAutoscaler.autoscaling":   nil,
	"StorageClass.storage.k8s.io":           nil,
	"PriorityClass.scheduling.k8s.io":       nil,
	"ResourceQuota":                         nil,
	"LimitRange":                            nil,
	"Namespace":                             nil,
	"Service":                               nil,
	"ServiceAccount":                        nil,
	"ClusterRole.rbac.authorization.k8s.io": nil,
	"Ingress.networking.k8s.io":             nil,
	"CustomResourceDefinition.apiextensions.k8s.io": {`"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:caBundle":{}}}}}`},
	"APIService.apiregistration.k8s.io":             {`"f:spec":{"f:caBundle":{}}`},
}

// anywhere are places of metadata in which a program may add to objects of any kind.
var anywhere = []string{
	`"f:status":{".":{},"f:%s":{}}`,
	`"f:metadata":{"f:finalizers":{".":{},"v:\"%s.example.com/a\"":{}}}`,
	`"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}}`,
}

var marks = []string{
	`"f:metadata":{"f:labels":{".":{},"f:%s":{}}}`,
	`"f:metadata":{"f:annotations":{"f:example.org/%s":{}}}`,
	`"f:metadata":{"f:annotations":{".":{},"f:%s":{}},"f:labels":{"f:example.org/%[1]s":{}}}`,
}

// sensitivePlaces are those of any kind in which nobody may add.
var sensitivePlaces = []string{
	`"f:spec":{"f:%s":{}}`,
	`"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:%s":{}}}}}`,
	`"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"%s\"}":{".":{},"f:image":{},"f:name":{}}}}}}`,
	`"f:%s":{}`,
	`"f:rules":{}`,
	`"f:metadata":{"f:labels":{"f:%s.k8s.io/a":{}}}`,
	`"f:metadata":{"f:annotations":{"f:%s.kubernetes.io/a":{}}}`,
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func word(random *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	text := make([]byte, 3+random.IntN(10))
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return "x" + string(text) // No word that means something.
}

func filled(random *rand.Rand, place string) string {
	if strings.Contains(place, "%") {
		place = fmt.Sprintf(place, word(random))
	}
	return "{" + place + "}"
}

func harmlessPlace(random *rand.Rand, kind string) string {
	places := append(append([]string{}, anywhere...), builtIn[kind]...)
	if !isSelected(kindOf(kind)) {
		places = append(places, marks...)
	}
	return pick(random, places)
}

// TestNoProgramMatters: whatever a random program adds in a random place that is not sensitive of a random
// built-in kind, the object is still what it was, and there is nothing to take over.
func TestNoProgramMatters(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 4))
	kinds := slices.Sorted(maps.Keys(builtIn))
	for range 2000 {
		subject := Subject{Kind: kindOf(pick(random, kinds)), Tolerance: Tolerance{Additions: RevertPeopleAndSensitive}}
		entries := []metav1.ManagedFieldsEntry{ours()}
		for range 1 + random.IntN(3) {
			entries = append(entries, entry(word(random)+"-operator", pick(random, []metav1.ManagedFieldsOperationType{"Update", "Apply"}), "",
				filled(random, harmlessPlace(random, subject.Kind.String()))))
		}
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		changed := object(entries...)
		is := known.Assess(changed, subject)
		if patch, err := known.Takeover(changed, subject); is.Fingerprint != is.Untouched || is.Fingerprint != fingerprint(object(ours())) || patch != nil || err != nil {
			t.Fatalf("%s: of what programs added something is taken back: %s, %v; entries %v", subject.Kind, patch, err, entries)
		}
	}
}

// TestEveryPersonMatters: whatever a person's tool adds anywhere, and whatever anybody adds in a sensitive place, is taken
// over, all of it, beside what programs added.
func TestEveryPersonMatters(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 11))
	kinds := slices.Sorted(maps.Keys(builtIn))
	for range 2000 {
		kind := pick(random, kinds)
		subject := Subject{Kind: kindOf(kind), Tolerance: Tolerance{Additions: RevertPeopleAndSensitive}}
		intruder := entry(pick(random, people), "Update", "", filled(random, pick(random, append(append([]string{}, anywhere...), marks...))))
		if random.IntN(2) == 0 {
			intruder = entry(word(random)+"-operator", "Update", "", filled(random, pick(random, sensitivePlaces)))
		}
		program := entry("a-program", "Update", "", filled(random, harmlessPlace(random, kind)))
		changed := object(ours(), program, intruder)
		after, err := takeOverAs(t, changed, changed, subject)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if len(after.ManagedFields) != 2 || after.ManagedFields[1].Manager != "a-program" || after.ManagedFields[1].FieldsV1.GetRawString() != program.FieldsV1.GetRawString() {
			t.Fatalf("%s: %s added %s beside %s; left are %v", kind, intruder.Manager, intruder.FieldsV1.GetRawString(), program.FieldsV1.GetRawString(), after.ManagedFields)
		}
	}
}
