// Package news tells when what is known of a kind is too old, because neither a list nor a watch of it works.
package news
