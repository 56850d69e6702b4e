// Package postponed keeps statuses that are written later, since all that is new in them mirrors what others do, and writes
// those that are left when the manager ends. What may be put off, and for how long, package throttle decides.
//
// What it keeps can be found out anew: a manager that is killed loses nothing.
package postponed
