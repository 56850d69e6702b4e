// Package rights finds out whether some credentials may do what others may, by asking the cluster as each of them.
//
// An API server tells only the rights that it can list, those of RBAC for one, and answers each question on a single right. So
// whoever may do everything is told by one question; of anybody else the rights are listed, and what the others do not list is
// asked one by one.
package rights

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

const (
	// nowhere is a namespace that clusters do not have: the rights in it are those that hold in every namespace.
	nowhere = "daytwo-no-such-namespace"
	// maxCompared bounds the rights that are compared: each a verb, a group, a resource and a name. The role "admin" has 700.
	maxCompared = 20_000
	// maxAsked bounds the questions on single rights.
	maxAsked = 200
	// maxTold bounds the name of a right in bytes, which is the cluster's word.
	maxTold = 200
)

// errTooMany tells that the comparison was given up.
var errTooMany = errors.New("the rights are too many to be compared: use cluster-admin, or a role with fewer rules")

// everything is what cluster-admin may do.
var everything = right{verb: "*", group: "*", resource: "*"}

// Lacking returns a right that the credentials in use have and the tried ones lack; empty if there is none. Rights that are
// granted in one namespace only are compared in the given namespaces. It compares no rights on paths such as /metrics.
func Lacking(ctx context.Context, inUse, tried authorizationv1client.AuthorizationV1Interface, namespaces ...string) (string, error) {
	all, err := may(ctx, inUse, "", everything)
	if err != nil {
		return "", fmt.Errorf("ask what the credentials in use may do: %w", err)
	}
	if all {
		all, err = may(ctx, tried, "", everything)
		if err != nil || all {
			return "", wrapTried(err)
		}
		return everything.String(), nil
	}
	asked := 0
	for _, namespace := range append([]string{nowhere}, namespaces...) {
		lacking, err := lackingIn(ctx, inUse, tried, namespace, &asked)
		if err != nil || lacking != "" {
			return lacking, err
		}
	}
	return "", nil
}

func wrapTried(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask what the new credentials may do: %w", err)
}

// lackingIn compares the rights in a namespace. What the tried credentials do not list is asked.
func lackingIn(ctx context.Context, inUse, tried authorizationv1client.AuthorizationV1Interface, namespace string, asked *int) (string, error) {
	had, err := list(ctx, inUse, namespace)
	if err != nil {
		return "", fmt.Errorf("list what the credentials in use may do: %w", err)
	}
	has, err := list(ctx, tried, namespace)
	if err != nil {
		return "", fmt.Errorf("list what the new credentials may do: %w", err)
	}
	missing, err := uncovered(had, has)
	if err != nil {
		return "", err
	}
	where, in := namespace, " in namespace "+namespace
	if namespace == nowhere {
		where, in = "", ""
	}
	for _, one := range missing {
		if *asked++; *asked > maxAsked {
			return "", errTooMany
		}
		allowed, err := may(ctx, tried, where, one)
		if err != nil {
			return "", wrapTried(err)
		}
		if !allowed {
			return one.String() + in, nil
		}
	}
	return "", nil
}

// may asks for a right in a namespace; in all of them if that is empty.
func may(ctx context.Context, who authorizationv1client.AuthorizationV1Interface, namespace string, one right) (bool, error) {
	answer, err := who.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: one.attributes(namespace)},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed && !answer.Status.Denied, nil
}

func list(ctx context.Context, who authorizationv1client.AuthorizationV1Interface, namespace string) ([]authorizationv1.ResourceRule, error) {
	answer, err := who.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return answer.Status.ResourceRules, nil
}

func told(text string) string { return truncate.Cut(text, maxTold) }
