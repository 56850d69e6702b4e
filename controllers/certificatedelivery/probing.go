package certificatedelivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certificatesv1alpha1 "github.com/daytwo-dev/daytwo/apis/certificates/v1alpha1"
	metav1alpha1 "github.com/daytwo-dev/daytwo/apis/meta/v1alpha1"
	"github.com/daytwo-dev/daytwo/controllers/certificatedelivery/probe"
	"github.com/daytwo-dev/daytwo/controllers/internal/background"
	"github.com/daytwo-dev/daytwo/controllers/internal/clustertemplate"
	"github.com/daytwo-dev/daytwo/controllers/internal/fleet"
	"github.com/daytwo-dev/daytwo/controllers/internal/truncate"
)

// maxProbeMessage is how long the status tells why a server served no certificate, in bytes, without the mark of what is cut off.
const maxProbeMessage = 500

// probeTime is how long a probe may take, and wait for its turn.
const probeTime = time.Minute

// newProbes are the tasks that probe servers. What came of one is an answer, whatever it is.
func newProbes() *background.Tasks[probe.Served] {
	return background.New[probe.Served](func(error) bool { return true })
}

// probeState is what is known of the server that is probed.
type probeState struct {
	// possible: what was delivered is in the cluster, so that it may be served.
	possible bool
	// is what a probe showed that the status does not tell of yet; nil for nothing.
	is *certificatesv1alpha1.ProbeStatus
	// again is when the next one is due; zero for never.
	again time.Time
}

// server that is probed in a cluster: what it is called, such as its address, and the name that it is asked for.
type server struct{ address, name string }

// observeProbe has the server probed, if that is due, once what was delivered is in the cluster.
func (r *Reconciler) observeProbe(o *observation, cluster *fleet.Cluster) {
	s, wanted := &o.Extra.probe, o.Status.Certificate
	if s.possible = isProbePossible(o, &o.Status); !s.possible {
		return
	}
	server, err := serverOf(o)
	if err != nil {
		return // The condition tells why.
	}
	asked, last := askedOf(server, wanted), o.Status.Probe
	if last != nil && last.Asked != asked {
		last = nil
	}
	task := "probe " + asked
	if last != nil {
		// A probe is known by the one before it, so what came of it is taken up once.
		task += " " + last.CheckedAt.UTC().Format(time.RFC3339) + " " + strconv.Itoa(int(last.Fails))
	}
	id := background.IDOf(o.Target, task)
	id.Tenant = o.Target.Spec.ClusterRef.Namespace
	progress := r.probes.Progress(id)
	switch {
	case progress.Running:
		return
	case progress.Done:
		s.is = probedAs(last, asked, wanted, progress.Result, progress.Err, o.Now)
		s.again = o.Now.Add(probe.Next(s.is.Fails, string(o.Target.UID)))
		return
	}
	if s.again = probeDue(&o.Status, last, string(o.Target.UID)); o.Now.Before(s.again) {
		return
	}
	s.again = time.Time{}
	dial := r.dial(o.Target.Spec.Probe.DeepCopy(), cluster)
	r.probes.Start(id, o.Now.Add(probeTime), func(ctx context.Context) (probe.Served, error) {
		return probe.Ask(ctx, dial, server.address, server.name)
	})
}

// dial connects to the server: by way of the cluster's API server, or to an address.
func (r *Reconciler) dial(wanted *certificatesv1alpha1.Probe, cluster *fleet.Cluster) probe.Dial {
	switch {
	case wanted.Service != nil:
		return probe.DialService(cluster, wanted.Service.Namespace, wanted.Service.Name, wanted.Port)
	case wanted.Pod != nil:
		return probe.DialPod(cluster, wanted.Pod.Namespace, &wanted.Pod.Selector, wanted.Port)
	}
	return r.Guard.DialContext
}

// isProbePossible is whether what was delivered is in the cluster, so that it may be served.
func isProbePossible(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) bool {
	return o.Target.Spec.Probe != nil && status.Certificate != nil && o.IsReachable() && !o.Suspension.Active && delivered(o, status) == nil
}

// serverOf is the server that is probed, with what is known of the cluster.
func serverOf(o *observation) (server, error) {
	wanted, cluster := o.Target.Spec.Probe, clustertemplate.Cluster{ClusterReference: o.Target.Spec.ClusterRef, ClusterParameters: o.Target.Spec.Cluster}
	name, err := clustertemplate.Expand(wanted.ServerName, cluster)
	if err != nil {
		return server{}, fmt.Errorf("spec.probe.serverName: %w", err)
	}
	switch {
	case wanted.Service != nil:
		return server{fmt.Sprintf("port %d of Service %s/%s", wanted.Port, wanted.Service.Namespace, wanted.Service.Name), name}, nil
	case wanted.Pod != nil:
		return server{fmt.Sprintf("port %d of the pods of %s with %s", wanted.Port, wanted.Pod.Namespace, metav1.FormatLabelSelector(&wanted.Pod.Selector)), name}, nil
	}
	address, err := clustertemplate.Expand(wanted.Address, cluster)
	if err != nil {
		return server{}, fmt.Errorf("spec.probe.address: %w", err)
	}
	host, err := hostOf(address)
	if err != nil {
		return server{}, fmt.Errorf("spec.probe.address becomes %q in this cluster: %w", address, err)
	}
	return server{address, cmp.Or(name, host)}, nil
}

// hostOf an address that has a port.
func hostOf(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if number, bad := strconv.Atoi(port); err != nil || bad != nil || host == "" || number < 1 || number > 65535 {
		return "", errors.New("write a host and a port, as in shop.acme.example:443")
	}
	return host, nil
}

// askedOf tells one question from another.
func askedOf(server server, wanted *certificatesv1alpha1.DeliveredCertificate) string {
	return shortHash([]string{server.address, server.name, wanted.Fingerprint})
}

// probedAs is what a probe showed.
func probedAs(
	last *certificatesv1alpha1.ProbeStatus, asked string, wanted *certificatesv1alpha1.DeliveredCertificate, served probe.Served, err error, now time.Time,
) *certificatesv1alpha1.ProbeStatus {
	is := &certificatesv1alpha1.ProbeStatus{CheckedAt: metav1.NewTime(now.Truncate(time.Second)), Asked: asked, Fingerprint: served.Fingerprint, SerialNumber: served.SerialNumber}
	if err != nil {
		is.Message = truncate.Message(err.Error(), maxProbeMessage)
	} else {
		notAfter := metav1.NewTime(served.NotAfter)
		is.NotAfter = &notAfter
	}
	if is.Fingerprint != wanted.Fingerprint {
		is.Fails = 1
		if last != nil {
			is.Fails = min(last.Fails, 1000) + 1
		}
	}
	return is
}

// probeDue is when the next probe is: soon after a correction of drift, since whoever changed the object may have had it loaded.
// Probes are known to the second, so the second has to be another one.
func probeDue(status *certificatesv1alpha1.CertificateDeliveryStatus, last *certificatesv1alpha1.ProbeStatus, id string) time.Time {
	if last == nil {
		return time.Time{}
	}
	if corrected := status.Drift.LastCorrected; corrected != nil && corrected.After(last.CheckedAt.Time) {
		return corrected.Add(time.Second)
	}
	return last.CheckedAt.Add(probe.Next(last.Fails, id))
}

// tellProbe tells what a probe showed.
func tellProbe(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) {
	if o.Target.Spec.Probe == nil {
		status.Probe = nil
		return
	}
	if o.Extra.probe.is != nil {
		status.Probe = o.Extra.probe.is
	}
}

// findProbe tells whether the server serves what was delivered.
func findProbe(o *observation, status *certificatesv1alpha1.CertificateDeliveryStatus) finding {
	if not := delivered(o, status); not != nil {
		return *not
	}
	server, err := serverOf(o)
	if err != nil {
		return finding{metav1.ConditionFalse, metav1alpha1.ReasonInvalidSpec, err.Error()}
	}
	wanted, is := status.Certificate, status.Probe
	switch {
	case wanted == nil || is == nil || is.Asked != askedOf(server, wanted):
		return finding{metav1.ConditionFalse, certificatesv1alpha1.ReasonProbePending, server.address + " was not probed since"}
	case is.Fingerprint == "":
		return finding{metav1.ConditionUnknown, certificatesv1alpha1.ReasonProbeFailed, cmp.Or(is.Message, server.address+" serves no certificate")}
	case is.Fingerprint != wanted.Fingerprint:
		return finding{metav1.ConditionFalse, certificatesv1alpha1.ReasonCertificateNotServed, fmt.Sprintf(
			"%s serves the certificate %s, which expires at %s, and not %s: it has not loaded what was delivered", server.address, is.SerialNumber, is.NotAfter.UTC().Format(time.RFC3339), wanted.SerialNumber)}
	}
	return finding{metav1.ConditionTrue, certificatesv1alpha1.ReasonReloaded, fmt.Sprintf("%s serves the certificate %s", server.address, wanted.SerialNumber)}
}
