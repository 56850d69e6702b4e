package veleroversion

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	backupv1alpha1 "github.com/daytwo-dev/daytwo/apis/backup/v1alpha1"
)

const (
	// askEvery is how often Velero is asked for its version.
	askEvery = 24 * time.Hour
	// Oldest is the oldest version that Daytwo works with: before it, the data of volumes could not be restored from storage
	// that is read only, as that of drills is (github.com/vmware-tanzu/velero/issues/9626).
	Oldest = "v1.18.1"
	// maxVersion is how long a version may be, in bytes.
	maxVersion = 64
)

// AskedAt is when Velero is to be asked for its version; zero for at once.
func AskedAt(told *backupv1alpha1.VeleroServer) time.Time {
	if told == nil {
		return time.Time{}
	}
	return told.CheckedAt.Add(askEvery)
}

// Answered is what an answer tells. Whoever has rights in the cluster may have written it.
func Answered(answer string, now time.Time) *backupv1alpha1.VeleroServer {
	told := &backupv1alpha1.VeleroServer{CheckedAt: metav1.NewTime(now).Rfc3339Copy()}
	if len(answer) > maxVersion {
		return told
	}
	if read, err := version.ParseSemantic(answer); err == nil {
		told.Version = "v" + read.String()
	}
	return told
}

// IsTooOld is whether Daytwo cannot work with a version. One that cannot be read, such as that of somebody's own build, is taken
// for new enough.
func IsTooOld(told string) bool {
	read, err := version.ParseSemantic(told)
	return err == nil && !read.AtLeast(version.MustParseSemantic(Oldest))
}
