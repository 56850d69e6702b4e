// Package schedule reads cron expressions, and tells when they come.
//
// An expression is read on the clock of a time zone. Where that clock is set forward over a time of the expression, the time
// comes at the jump, and is not lost. Where it is set back, a time that the clock shows twice comes the first time only.
//
// For programs that know UTC alone, such as Velero, an expression is translated, and shifted by an offset, so that a
// thousand clusters do not start at once. Everything is a function of the expression and of the time that is asked about.
package schedule
