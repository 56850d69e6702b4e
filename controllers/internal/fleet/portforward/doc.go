// Package portforward opens connections to ports of pods, by way of the API server: WebSockets over HTTP/1.1, as kubelets forward
// ports. Frames are read as they come, and what is no part of forwarding a port ends the connection: a cluster may send anything.
package portforward
