package controllers

import (
	"fmt"
	"os"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/ownership"
)

// rules puts together which changes in workload clusters are drift.
func (o Options) rules() (ownership.Rules, error) {
	catalog, err := o.exceptions()
	known := ownership.NewControllers(ownership.ManagerOf(o.Installation), o.ControllerManagers...)
	return ownership.NewRules(known, slices.Concat(ownership.DefaultTools(), o.ToolManagers), catalog), err
}

// exceptions reads the built-in catalog, and the rows that the installation adds.
func (o Options) exceptions() (ownership.Catalog, error) {
	catalog := ownership.DefaultCatalog()
	if o.DriftExceptions == "" {
		return catalog, nil
	}
	text, err := os.ReadFile(o.DriftExceptions)
	if err != nil {
		return nil, fmt.Errorf("read the drift exceptions: %w", err)
	}
	more, err := ownership.ParseCatalog(text)
	if err != nil {
		return nil, fmt.Errorf("drift exceptions in %s: %w", o.DriftExceptions, err)
	}
	return append(slices.Clip(catalog), more...), nil
}
