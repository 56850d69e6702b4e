package apply

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// finalizersOf says what holds an object that is being deleted; empty if nothing does. Clients choose the names.
func finalizersOf(object metav1.Object) string {
	const most, bytes = 3, 100
	finalizers := object.GetFinalizers()
	var text []string
	for _, one := range finalizers[:min(most, len(finalizers))] {
		text = append(text, truncate.Cut(one, bytes))
	}
	switch len(finalizers) {
	case 0:
		return ""
	case 1:
		return "finalizer " + text[0]
	}
	return "finalizers " + truncate.First(text, ", ", len(finalizers))
}

// RemovalMessage names what is waited for, and why it is still there; first what has a reason.
func RemovalMessage(removing []Removed) string {
	if len(removing) == 1 {
		message := "waiting for " + removing[0].String() + " to be gone"
		if why := removing[0].Deletion.why; why != "" {
			message += ": " + why
		}
		return message
	}
	var told, unexplained []explained
	for _, one := range removing {
		if one.Deletion.why == "" {
			unexplained = append(unexplained, explained(one))
			continue
		}
		told = append(told, explained(one))
	}
	told = append(told, unexplained...)
	return "waiting for " + Names(told) + " to be gone"
}

// explained is an object with the reason why it is still there.
type explained Removed

// String is the form for people, as in "Widget acme/w (finalizer example.com/cleanup)".
func (e explained) String() string {
	if e.Deletion.why == "" {
		return e.Ref.String()
	}
	return fmt.Sprintf("%s (%s)", e.Ref, e.Deletion.why)
}
