// Package pages reads the blocks of commands and manifests in README.md, CONTRIBUTING.md and docs, and runs the commands.
// Every block is of a known class, and each class says where its blocks are run, or why they are not. The tests of this
// package need no cluster; those with a fleet, e2e and e2e/order, run the blocks of their classes.
package pages
