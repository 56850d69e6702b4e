package secretaccess

import "sigs.k8s.io/controller-runtime/pkg/reconcile"

// Retry is what a reconcile returns that failed. One that met an *Error has told of it, and looks again soon: a backoff would grow to
// minutes, and nothing tells of a RoleBinding that was made.
func Retry(err error) (reconcile.Result, error) {
	if Of(err) == nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: LookAgain}, nil
}
