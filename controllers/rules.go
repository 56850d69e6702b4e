package controllers

import (
	"fmt"
	"os"
	"slices"

	"github.com/daytwo-dev/daytwo/controllers/internal/managedfields"
)

// rules puts together which changes in workload clusters are drift.
func (o Options) rules() (managedfields.Rules, error) {
	catalog, err := o.exceptions()
	known := managedfields.NewControllers(managedfields.ManagerOf(o.Installation), o.ControllerManagers...)
	return managedfields.NewRules(known, slices.Concat(managedfields.DefaultTools(), o.ToolManagers), catalog), err
}

// exceptions reads the built-in catalog, and the rows that the installation adds.
func (o Options) exceptions() (managedfields.Catalog, error) {
	catalog := managedfields.DefaultCatalog()
	if o.DriftExceptions == "" {
		return catalog, nil
	}
	text, err := os.ReadFile(o.DriftExceptions)
	if err != nil {
		return nil, fmt.Errorf("read the drift exceptions: %w", err)
	}
	more, err := managedfields.ParseCatalog(text)
	if err != nil {
		return nil, fmt.Errorf("drift exceptions in %s: %w", o.DriftExceptions, err)
	}
	return append(slices.Clip(catalog), more...), nil
}
