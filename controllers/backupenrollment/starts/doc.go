// Package starts tells when backups start by schedule: which starts are beyond blackouts, and which start is owed, because no
// good backup has followed it. It is pure.
package starts
