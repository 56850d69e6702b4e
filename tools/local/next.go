package main

import (
	"path/filepath"
	"strings"
)

// nextSteps is what to type once the fleet and the manager run, in the repository.
func nextSteps(stateDir string, registered bool) string {
	local := "bin/local"
	if filepath.Clean(stateDir) != defaultStateDir {
		local += " --state-dir " + quoted(stateDir)
	}
	steps := [][2]string{{"export KUBECONFIG=" + quoted(filepath.Join(stateDir, "management.kubeconfig")), ""}}
	if !registered {
		steps = append(steps, [2]string{local + " up --register", "makes every workload cluster a TenantCluster"})
	}
	steps = append(steps,
		[2]string{"kubectl get tenantclusters -A", "the clusters that Daytwo knows"},
		[2]string{"kubectl apply -f config/samples/addon.yaml", "an add-on for all of them"},
		[2]string{"kubectl get daytwo,daytwo-targets -A", "what people write, and what Daytwo makes of it"},
		[2]string{local + " status", "what runs, and where"},
		[2]string{local + " restart", "takes up a new build of bin/daytwo"},
		[2]string{local + " down", "ends all of it"},
	)
	var text strings.Builder
	text.WriteString("\nType next:\n\n")
	for _, step := range steps {
		text.WriteString("  " + step[0])
		if step[1] != "" {
			text.WriteString(strings.Repeat(" ", max(2, commentColumn-len(step[0]))) + "# " + step[1])
		}
		text.WriteString("\n")
	}
	text.WriteString("\nWithout kubectl, use " + local + " kubectl in its place.\n")
	return text.String()
}

// commentColumn is where the comments behind commands begin.
const commentColumn = 44

// quoted is a path as a shell reads it.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(harmless, r) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// harmless are the characters that mean nothing to a shell.
const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-"
