package main

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// requestsMetric counts the manager's requests to workload clusters.
const requestsMetric = "daytwo_remote_requests_total"

// metrics of the manager, by name.
type metrics map[string]*dto.MetricFamily

// total adds up the counters and gauges of a name that are selected; nil selects all.
func (m metrics) total(name string, selected func(labels map[string]string, value float64) bool) float64 {
	var sum float64
	for _, metric := range m[name].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		// Of counter, gauge and untyped all but one are nil, and count 0.
		value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue()
		if selected == nil || selected(labels, value) {
			sum += value
		}
	}
	return sum
}

// isWatch selects watches that were opened.
func isWatch(labels map[string]string, _ float64) bool { return labels["verb"] == "watch" }

// isGet selects requests for objects, and for what there is.
func isGet(labels map[string]string, _ float64) bool { return labels["verb"] == "get" }

// isRead selects requests that change nothing, and are no watch.
func isRead(labels map[string]string, _ float64) bool {
	return slices.Contains([]string{"get", "probe"}, labels["verb"])
}

// isWrite selects requests that may change something.
func isWrite(labels map[string]string, _ float64) bool {
	return slices.Contains([]string{"post", "put", "patch", "delete"}, labels["verb"])
}

func isOne(_ map[string]string, value float64) bool { return value == 1 }
