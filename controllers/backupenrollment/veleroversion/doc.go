// Package veleroversion asks the Velero in a cluster for its version, once a day, and says whether Daytwo works with that.
package veleroversion
