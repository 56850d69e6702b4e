package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/daytwo-dev/daytwo/tools/local/localfleet"
	"github.com/daytwo-dev/daytwo/tools/local/manifests"
	"github.com/daytwo-dev/daytwo/tools/local/samplecharts"
)

// What --components can bring up beside the clusters.
const (
	// clusterAPI is Cluster API with the local provider and its classes.
	clusterAPI = "capi"
	// clusterAPIDefinitions are Cluster API's definitions alone.
	clusterAPIDefinitions = "capi-crds"
	// velero is a Velero server for each workload cluster, and an S3 gateway.
	velero = "velero"
	// certManager is cert-manager in the management cluster.
	certManager = "cert-manager"
)

var knownComponents = []string{clusterAPI, clusterAPIDefinitions, velero, certManager}

// upOptions are the flags of up that come after the clusters are ready.
type upOptions struct {
	components  []string
	apply       []string
	webhooks    []string
	manager     string
	managerArgs []string
	register    bool
}

func upCommand(stateDir *string) *cobra.Command {
	var clusters int
	var bare bool
	var options upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring the fleet up, or what is missing of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := options.validate(); err != nil {
				return err
			}
			fleet, err := localfleet.Start(cmd.Context(), localfleet.Options{
				StateDir:       *stateDir,
				Clusters:       clusters,
				ClusterOptions: localfleet.ClusterOptions{Bare: bare, Velero: slices.Contains(options.components, velero)},
				ClusterAPI:     slices.Contains(options.components, clusterAPI),
				CertManager:    slices.Contains(options.components, certManager),
				Detached:       true,
				Progress:       cmd.OutOrStdout(),
			})
			if err != nil {
				return err
			}
			if err := options.install(cmd.Context(), fleet); err != nil {
				_ = fleet.Close() // It only gives up a lock; the first error matters.
				return err
			}
			if err := fleet.Close(); err != nil || options.manager == "" {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), nextSteps(*stateDir, options.register))
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&clusters, "clusters", 3, "number of workload clusters")
	flags.BoolVar(&bare, "bare", false, "give new clusters an API server only: no controllers, scheduler and nodes")
	flags.StringSliceVar(&options.components, "components", nil, "bring up beside the clusters: "+strings.Join(knownComponents, ", "))
	flags.StringArrayVar(&options.apply, "apply", nil, "apply a manifest, or a directory of them, to the management cluster")
	flags.StringArrayVar(&options.webhooks, "webhooks", nil, "apply a manifest of webhook configurations, which are made to lead to the manager")
	flags.StringVar(&options.manager, "manager", "", "run this manager binary in the background")
	flags.StringArrayVar(&options.managerArgs, "manager-arg", nil, "pass a further argument to the manager")
	flags.BoolVar(&options.register, "register", false, "make every workload cluster a TenantCluster")
	return cmd
}

func (o upOptions) validate() error {
	for _, component := range o.components {
		if !slices.Contains(knownComponents, component) {
			return fmt.Errorf("--components=%s: there is only %s", component, strings.Join(knownComponents, ", "))
		}
	}
	if len(o.managerArgs) > 0 && o.manager == "" {
		return errors.New("--manager-arg needs --manager")
	}
	return nil
}

func (o upOptions) install(ctx context.Context, fleet *localfleet.Fleet) error {
	// With the whole come the definitions, which lead to its webhooks.
	if slices.Contains(o.components, clusterAPIDefinitions) && !slices.Contains(o.components, clusterAPI) {
		if err := fleet.InstallClusterAPI(ctx); err != nil {
			return err
		}
	}
	for _, path := range o.apply {
		objects, err := manifests.Load(path)
		if err != nil {
			return err
		}
		if err := manifests.Apply(ctx, fleet.Management().Config(), objects); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, path := range o.webhooks {
		configurations, err := manifests.Load(path)
		if err != nil {
			return err
		}
		if _, err := fleet.InstallWebhooks(ctx, configurations); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if o.manager != "" {
		if err := o.startManager(ctx, fleet); err != nil {
			return err
		}
	}
	if o.register {
		return fleet.Register(ctx, fleet.Clusters()...)
	}
	return nil
}

// startManager gives the manager the charts of config/samples, so that these work without internet.
func (o upOptions) startManager(ctx context.Context, fleet *localfleet.Fleet) error {
	mirror, err := samplecharts.Write(filepath.Join(fleet.StateDir(), "charts"))
	if err != nil {
		return err
	}
	return fleet.StartManager(ctx, o.manager, append([]string{mirror}, o.managerArgs...)...)
}
