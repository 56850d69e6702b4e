// Package report shows what drills prove to people: one HTML file for a chain of evidence, with the newest drill in full and
// a table of all of them. The file is complete in itself. It has no script, asks no network, and can be read on a screen, on
// a phone and on paper.
//
// The report is no evidence: the documents are. So it tells how they are verified without it. The same chain gives the same
// bytes, since no clock is read. Every text of a document is hostile: bounded.go limits it, and html/template escapes it.
//
// The files go from the document to the page: bounded.go cuts, page.go says, measure.go and timeline.go draw.
package report
