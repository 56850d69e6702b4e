package secretaccess

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// Role is the ClusterRole with the rules for Secrets, and the name of its RoleBindings.
const Role = "daytwo-secrets"

// Flag of the manager with the namespaces.
const Flag = "--secret-namespaces"

// account is what the manager runs as, where config installed it.
const account = "daytwo-system:daytwo-controller-manager"

// LookAgain is after how long somebody asks again who was refused: nothing else tells them that a RoleBinding was made.
const LookAgain = 10 * time.Second

// Error says that Secrets of a namespace are not the manager's to read. It counts as an API server's "forbidden".
type Error struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Listed: the namespace is the manager's by its flag. What is missing is the RoleBinding.
	Listed bool
}

// Error implements error, for people: it says what to do.
func (e *Error) Error() string {
	bind := fmt.Sprintf("kubectl create rolebinding %s --namespace=%s --clusterrole=%s --serviceaccount=%s", Role, e.Namespace, Role, account)
	switch {
	case e.Namespace == "":
		return fmt.Sprintf("the manager reads Secrets in the namespaces of %s alone, and so not in all", Flag)
	case e.Listed:
		return fmt.Sprintf("the manager may not read Secrets in namespace %s, though its flag %s has that: the RoleBinding %s is missing there; the provider's team makes it with: %s",
			e.Namespace, Flag, Role, bind)
	}
	return fmt.Sprintf("the manager reads no Secrets in namespace %s: the provider's team adds that to the manager's flag %s, and makes the RoleBinding %s there with: %s",
		e.Namespace, Flag, Role, bind)
}

// Status implements errors.APIStatus.
func (e *Error) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: e.Error()}
}

// Of finds the *Error in an error; nil if there is none.
func Of(err error) *Error {
	var denied *Error
	if errors.As(err, &denied) {
		return denied
	}
	return nil
}

// Reason is that of a condition which tells of an error: the one for Secrets that cannot be read, or otherwise another.
func Reason(err error, otherwise string) string {
	if Of(err) != nil {
		return metav1alpha1.ReasonSecretsNotReadable
	}
	return otherwise
}
