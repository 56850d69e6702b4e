// Package leadership tests what becomes of a manager that loses the lead: two managers, as processes, work on
// one environment of their own.
package leadership
