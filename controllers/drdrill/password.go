package drdrill

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/repositorypassword"
)

// setPassword is the task that has Velero read the data of volumes in another cluster than the one that was backed up. Velero
// makes the Secret at its start, and reads it with each restore.
func (r *Reconciler) setPassword(ctx context.Context, v view) error {
	drill := v.Run
	source := drill.Status.Source
	wanted, err := repositorypassword.Read(ctx, r.Room.APIReader, types.NamespacedName{Namespace: drill.Namespace, Name: source.RepositoryPassword.Name}, source.RepositoryPassword.Key)
	var invalid *repositorypassword.InvalidError
	if errors.As(err, &invalid) {
		return refuse("%s", invalid)
	}
	if err != nil {
		return err
	}
	cluster, err := clusterOf(v, actionBackup)
	if err != nil {
		return err
	}
	held, err := repositorypassword.ReadHeld(ctx, cluster, source.VeleroNamespace, r.Installation)
	if err != nil {
		return err
	}
	if holder, taken := cluster.Tracker.OwnerOf(repositorypassword.RefOf(source.VeleroNamespace).Key()); taken {
		held.Owner = holder.Kind + " " + holder.String()
	}
	set, problem := decidePassword(drill, held, wanted)
	switch {
	case problem != "":
		return refuse("%s", problem)
	case !set:
		return nil
	case !held.Exists():
		return fmt.Errorf("%s is not there: waits for Velero to make it", repositorypassword.RefOf(source.VeleroNamespace))
	}
	return writePassword(ctx, cluster, source.VeleroNamespace, held, wanted)
}

// writePassword changes the Secret if it is still the one that was read. Its errors tell nothing of the content.
func writePassword(ctx context.Context, cluster *fleet.Cluster, namespace string, held repositorypassword.Held, wanted repositorypassword.Password) error {
	patch, err := json.Marshal([]map[string]any{{
		"op": "add", "path": "/data", "value": map[string]string{repositorypassword.SecretKey: base64.StdEncoding.EncodeToString([]byte(wanted.Value))},
	}})
	if err != nil {
		return err
	}
	ref := repositorypassword.RefOf(namespace)
	if _, err := cluster.Patch(ctx, ref, held.UID, patch); err != nil {
		return fmt.Errorf("write the repository password into %s: %w", ref, err)
	}
	return nil
}
