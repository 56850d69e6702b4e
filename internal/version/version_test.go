package version

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsThatOfTheBuild(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	platform := []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}}
	tests := map[string]struct {
		linked string
		build  debug.BuildInfo
		want   string
	}{
		"in a repository": {
			build: debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.4.0"}, Settings: append(platform, revision)},
			want:  "v0.4.0 (commit 0123456789ab, go1.26.0, linux/arm64)",
		},
		"with changes": {
			build: debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v0.4.0+dirty"}, Settings: append(platform, revision, modified)},
			want:  "v0.4.0+dirty (commit 0123456789ab-modified, go1.26.0, linux/arm64)",
		},
		"named by the build": {
			linked: "v0.5.0",
			build:  debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"}, Settings: platform},
			want:   "v0.5.0 (commit unknown, go1.26.0, linux/arm64)",
		},
		"of which nothing is recorded": {want: "unknown (commit unknown, unknown, unknown/unknown)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := from(test.linked, &test.build).String(); got != test.want {
				t.Errorf("version %q, want %q", got, test.want)
			}
		})
	}
}

func TestAProgramKnowsWhatBuiltIt(t *testing.T) {
	if info := Get(); info.Go == unknown || info.Platform == "unknown/unknown" {
		t.Errorf("this program does not know what built it: %s", info)
	}
}
