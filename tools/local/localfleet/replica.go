package localfleet

import (
	"context"
	"errors"
)

// StartReplica runs the manager binary at path once more, beside the manager that was started before, and with
// that one's rights. It serves nothing, so it is only good for leading when the other does not. It ends with the
// fleet. There is one replica at most.
func (f *Fleet) StartReplica(ctx context.Context, path string, args ...string) error {
	if _, running := f.processes.Lookup(replicaName); running {
		return errors.New("a replica of the manager runs already")
	}
	_, err := f.start(ctx, program{
		name:   replicaName,
		binary: path,
		args:   append([]string{"--health-probe-bind-address=0", "--metrics-bind-address=0", "--allow-loopback-clusters"}, args...),
		env:    []string{"KUBECONFIG=" + f.paths.managerKubeconfig()},
	})
	return err
}

// ReplicaLog returns the file that the replica logs to.
func (f *Fleet) ReplicaLog() string { return f.paths.log(replicaName) }
