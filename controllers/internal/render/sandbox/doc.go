// Package sandbox is what confines a worker process of package render, and what it says to the manager: the kernel refuses
// it memory, files and connections beyond what it has, and frames go through its pipes.
package sandbox
