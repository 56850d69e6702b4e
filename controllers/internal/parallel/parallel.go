// Package parallel does independent work several pieces at a time.
package parallel

import "golang.org/x/sync/errgroup"

// Map calls do for every index below count, at most limit calls at a time, and returns the results by index. It returns
// when all calls have: one that fails stops no other, and says so in its result. A limit of less than 1 is a programming
// error.
func Map[R any](count, limit int, do func(i int) R) []R {
	results := make([]R, count)
	var group errgroup.Group
	group.SetLimit(limit)
	for i := range count {
		group.Go(func() error {
			results[i] = do(i)
			return nil
		})
	}
	_ = group.Wait() // No call returns an error to the group.
	return results
}
