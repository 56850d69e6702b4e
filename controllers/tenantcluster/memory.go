package tenantcluster

import (
	"github.com/daytwo-dev/daytwo/controllers/internal/kubeconfig"
	"github.com/daytwo-dev/daytwo/controllers/tenantcluster/renewedtoken"
)

// known is what is remembered of a TenantCluster, so that each version of a Secret is read once. One worker at a time touches it.
type known struct {
	// source says which version of a Secret was read for found.
	source sourceOf
	found  credentials
	// linked is the fingerprint of the access that the fleet was given last; empty for none.
	linked string
	// token is what a Secret with a renewed token had; nil if it had none. tokenSource says which version of it was read.
	token       *renewedtoken.Token
	tokenSource tokenSource
	// refused are the credentials that the cluster refused.
	refused renewedtoken.Refusals
	// untold is the editor of the Cluster on order if the answer to taking the edit back was lost; empty otherwise.
	untold string
	// handled is the request for a try after which the fleet was asked for one, or made one anyway.
	handled string
}

// sourceOf says where credentials were read, and when.
type sourceOf struct {
	ref             secretReference
	resourceVersion string
}

// tokenSource says of which version of its Secret a token is, and which kubeconfig it was read for.
type tokenSource struct{ version, kubeconfig string }

// isLinked says whether the fleet was given this access last.
func (k *known) isLinked(access kubeconfig.Access) bool { return k.linked == access.Fingerprint() }

// isHandled says whether there was a try since the request came. Taking a request back is none.
func (k *known) isHandled(request string) bool { return request == "" || k.handled == request }
