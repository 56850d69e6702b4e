package details

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/daytwo-dev/daytwo/controllers/backupenrollment/history"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// Plan is which details are known, and which are to be read.
type Plan struct {
	// Known are those that are on record, or were read since.
	Known history.AllDetails
	// Unread are the backups of which they are not known, the latest first.
	Unread []history.ID
	// Due are those of them that are to be read now.
	Due []history.ID
	// Settled: all that was read is on record.
	Settled bool
	// Again is when a try that failed is repeated; zero for never.
	Again time.Time
}

// PlanReading decides about the backups that the cluster shows, by how far the task is that reads their details. The last ten
// are read, and the last good one. What is on record is not read again.
//
// The details of the standard are those on record. The plan has its own.
func PlanReading(backups []*unstructured.Unstructured, s history.Standard, progress background.Progress[history.AllDetails], now time.Time) Plan {
	r := Plan{Known: history.AllDetails{}, Settled: true}
	maps.Copy(r.Known, s.Details)
	r.add(progress.Result)
	s.Details = r.Known
	r.Unread = history.Of(backups, s).ToRead()
	if progress.Err != nil {
		r.explain(truncate.Message(progress.Err.Error(), history.MaxProblem))
	}
	switch {
	case progress.Running:
	case progress.Err != nil && now.Before(progress.Again):
		r.Again = progress.Again
	default:
		r.Due = r.Unread
	}
	return r
}

// add takes in what was read just now.
func (r *Plan) add(found history.AllDetails) {
	for id, one := range found {
		if r.Known[id].Read {
			continue
		}
		r.Settled = r.Settled && !one.Read
		r.Known[id] = one
	}
}

// explain says of backups that are not read why that is, unless more is known of it.
func (r *Plan) explain(why string) {
	for _, id := range r.Unread {
		if r.Known[id].Problem == "" {
			r.Known[id] = history.Details{Problem: why}
		}
	}
}
