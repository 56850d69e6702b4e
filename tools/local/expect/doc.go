// Package expect is how tests wait for what should be so.
package expect
