// Package deadline bounds requests to the management cluster in time.
//
// A write that is never answered, behind a webhook or a load balancer that swallows it, would hold a worker
// for ever, and four of them all SaaSAddons. rest.Config.Timeout bounds watches too, so it cannot be used.
package deadline
