// Package graceful lets reconciles that are under way at SIGTERM finish.
//
// controller-runtime ends the context of running reconciles the moment it is told to stop, and still
// hands out what is left in the queue. With the decorator of this package none starts from then on,
// and those under way have a while to finish. Then comes what a [Group] does last, such as writing what they put off.
package graceful
