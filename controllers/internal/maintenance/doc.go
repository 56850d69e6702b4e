// Package maintenance reads windows that recur, such as those for maintenance, and tells when they are open.
//
// A window opens at the times of its schedule, on the clock of its time zone, and closes when its duration
// has elapsed, whatever that clock did meanwhile. Where the clock is set forward over a time of the schedule,
// the window opens at the jump, and is not lost. Where it is set back, a time that comes twice opens the
// window the first time only.
//
// Windows that overlap or touch are one span. Everything is a function of the windows and of the time that
// is asked about.
package maintenance
