// Package netguard makes connections to addresses that customers chose, and refuses those that a customer may not make
// the manager connect to.
//
// A [Guard] looks at the address that a connection is really made to, after the name was resolved and before the first
// packet. A check of a name beforehand would prove nothing: the name may resolve to another address a moment later. A
// redirect needs no check of its own, since it makes another connection.
//
// A refusal names the host as it was asked for. It does not name the address: that would tell whoever asked what the
// manager's DNS server knows. Errors that are no refusals come from package net as they are, and may name an address that
// is permitted.
//
// A connection through a proxy is made to the proxy, and the guard sees no other address.
package netguard
