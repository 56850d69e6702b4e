package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1alpha1 "github.com/daytwo-dev/daytwo/apis/addons/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
)

// surviveOutage shows that a dead cluster holds nobody up, shows as what it is, and catches up.
func (s *story) surviveOutage(ctx context.Context) error {
	dead, others := s.customers[1], []customer{s.customers[0], s.customers[2]}
	cluster, err := s.env.Fleet.Cluster(dead.name)
	if err != nil {
		return err
	}
	if err := s.screen.Do("killing the API server of "+dead.name, func() (done, error) {
		return done{text: dead.name + ": the API server is killed, and all that runs beside it"}, cluster.Stop(ctx)
	}); err != nil {
		return err
	}
	killed := time.Now()
	if err := s.rollOut(ctx, others); err != nil {
		return err
	}
	if err := s.noticeOutage(ctx, dead, killed); err != nil {
		return err
	}
	if err := s.screen.Do("starting "+dead.name+" again", func() (done, error) {
		return done{text: dead.name + ": starts again"}, cluster.Start(ctx)
	}); err != nil {
		return err
	}
	return s.catchUp(ctx, dead)
}

func (s *story) rollOut(ctx context.Context, others []customer) error {
	err := s.screen.Do("rolling out "+newImage, func() (done, error) {
		start := time.Now()
		if err := s.changeImage(ctx); err != nil {
			return done{}, err
		}
		err := s.awaitReady(ctx, addonName, others...)
		s.figures.rollout = time.Since(start)
		return done{fmt.Sprintf("%s and %s: %s rolled out and ready", others[0].name, others[1].name, newImage), s.figures.rollout}, err
	})
	if err == nil {
		s.screen.Command(kubectl() + " edit saasaddon " + addonName + " -n " + providerNamespace)
	}
	return err
}

func (s *story) changeImage(ctx context.Context) error {
	addon := newAddon()
	if err := s.env.Admin.Get(ctx, addonKey(addonName), addon); err != nil {
		return err
	}
	before := addon.DeepCopy()
	manifests := addon.Spec.Source.Manifests
	manifests.Inline = strings.ReplaceAll(manifests.Inline, image, newImage)
	return s.env.Admin.Patch(ctx, addon, client.MergeFrom(before))
}

func (s *story) noticeOutage(ctx context.Context, dead customer, killed time.Time) error {
	var release *addonsv1alpha1.AddonRelease
	err := s.screen.Do("waiting for "+dead.name+" to be reported", func() (done, error) {
		var err error
		release, err = s.awaitRelease(ctx, addonName, dead, func(release *addonsv1alpha1.AddonRelease) bool {
			ready := meta.FindStatusCondition(release.Status.Conditions, metav1alpha1.ConditionReady)
			return ready != nil && ready.Status == metav1.ConditionUnknown && ready.Reason == metav1alpha1.ReasonClusterUnreachable
		})
		s.figures.noticed = time.Since(killed)
		return done{dead.name + ": reported as unreachable; nothing stays green on old news", s.figures.noticed}, err
	})
	if err != nil {
		return err
	}
	s.screen.Note("status: " + describe(release.Status.Conditions, metav1alpha1.ConditionReady))
	addon := newAddon()
	if err := await(ctx, func(ctx context.Context) (sight, error) {
		err := s.env.Admin.Get(ctx, addonKey(addonName), addon)
		seen := describe(addon.Status.Conditions, metav1alpha1.ConditionReady)
		return sight{happened: addon.Status.Clusters.Unreachable.Count == 1, seen: "SaaSAddon: " + seen}, err
	}); err != nil {
		return err
	}
	s.screen.Note("SaaSAddon: " + describe(addon.Status.Conditions, metav1alpha1.ConditionReady))
	s.screen.Command(kubectl() + " describe addonrelease " + release.Name + " -n " + providerNamespace)
	return nil
}

func (s *story) catchUp(ctx context.Context, back customer) error {
	return s.screen.Do("waiting for "+back.name+" to catch up", func() (done, error) {
		start := time.Now()
		if err := s.awaitReady(ctx, addonName, back); err != nil {
			return done{}, err
		}
		s.figures.caughtUp = time.Since(start)
		workload, err := s.env.Workload(back.name)
		if err != nil {
			return done{}, err
		}
		live := deployment()
		if err := workload.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return done{}, err
		}
		if got := live.Spec.Template.Spec.Containers[0].Image; got != newImage {
			return done{}, fmt.Errorf("the image in cluster %s is %s although %s is said to be rolled out", back.name, got, newImage)
		}
		return done{back.name + ": caught up by itself, " + newImage + " runs", s.figures.caughtUp}, nil
	})
}
