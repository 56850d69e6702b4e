// Package coverage tells which namespaces and volumes of a cluster no backup holds, by the templates of all policies that work
// in it and by the last backup that was read. What people or drills keep out of backups does not count. It is pure.
package coverage
