package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// garbagePercent is what GOGC says where nobody set it. Clusters cost memory all the time and processor time
// only while something changes in them, so the manager collects garbage a little earlier than Go does by
// itself (100): a tenth less memory a cluster, and a few percent more processor time while it applies.
const garbagePercent = 75

// memoryLimitVariable holds the memory limit of the container in bytes: config/manager takes it from the Deployment.
const memoryLimitVariable = "DAYTWO_MEMORY_LIMIT"

// managerShare of the container's memory is what GOMEMLIMIT says where nobody set it. The render workers are in the same
// container, and each may take 256 MiB.
const managerShare = 0.6

// collectGarbage sets what the environment does not: how early garbage is collected, and from how much memory on all the time.
func collectGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if limit := memoryLimit(os.Getenv); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is the manager's share in bytes; 0 where Go's own limit is to stay.
func memoryLimit(environment func(string) string) int64 {
	container, err := strconv.ParseInt(environment(memoryLimitVariable), 10, 64)
	if err != nil || container <= 0 || environment("GOMEMLIMIT") != "" {
		return 0
	}
	return int64(math.Round(float64(container) * managerShare))
}
