// Package saasaddon is what an add-on is made of: its content from manifests, ConfigMaps or a chart with values, and the
// settings that its AddonReleases take at once. How it reaches its clusters is the policy room's (package policy), whose
// Kind the Reconciler is.
//
// It never talks to a workload cluster. What package try renders before a rollout goes nowhere. It reads the Secrets that an
// add-on names, for values and for access to a repository, and puts no content of theirs anywhere but into revisions.
package saasaddon
