package charts

import (
	"fmt"
	"net"
	"net/http"
	"testing"
)

func TestRedirectsAreFollowedToHTTPSOnlyAndWithoutCredentials(t *testing.T) {
	w := newEnv(t)
	s := newShop(t, "", "1.0.0")
	inside := w.serve(s.mux, "inside.test")
	w.near[inside.address] = true
	files := w.serve(s.mux, "files.test", "files.charts.test")
	mux := http.NewServeMux()
	w.serve(mux, "charts.test")
	w.names["charts.test:8443"] = files.address
	for i := range 6 {
		mux.Handle(fmt.Sprintf("/hops/%d/", i+1), redirect(fmt.Sprintf("/hops/%d/index.yaml", i)))
	}
	mux.Handle("/hops/0/", redirect("/stable/index.yaml"))
	mux.Handle("/stable/", guarded(s.mux))
	for path, to := range map[string]string{
		"same": "/stable/index.yaml", "other": "https://files.test/stable/index.yaml", "subdomain": "https://files.charts.test/stable/index.yaml",
		"port": "https://charts.test:8443/stable/index.yaml", "http": "http://charts.test/stable/index.yaml",
		"metadata": "https://169.254.169.254/latest/meta-data/", "loopback": "https://127.0.0.1:" + port(inside.address) + "/stable/index.yaml",
		"inside": "https://inside.test/stable/index.yaml", "mapped": "https://[::ffff:169.254.169.254]/",
		"user": "https://bob:pw@files.test/stable/index.yaml", "loop": "/loop/index.yaml", "file": "file:///etc/passwd",
	} {
		mux.Handle("/"+path+"/index.yaml", redirect(to))
		mux.Handle("/"+path+"/web-1.0.0.tgz", guarded(redirect("/stable/web-1.0.0.tgz")))
	}
	mux.Handle("/hops/4/web-1.0.0.tgz", redirect("/stable/web-1.0.0.tgz"))
	for path, reason := range map[string]Reason{
		"same": "", "hops/4": "", "other": "", "subdomain": "", "port": "",
		"hops/5": SourceRefused, "http": SourceRefused, "metadata": SourceRefused, "loopback": SourceRefused, "inside": SourceRefused,
		"mapped": SourceRefused, "user": SourceRefused, "loop": SourceRefused, "file": SourceRefused,
	} {
		t.Run(path, func(t *testing.T) {
			source := w.source("https://charts.test/" + path)
			source.Credentials = alice
			chart, err := w.fetcher(Options{}).Fetch(t.Context(), source)
			if reason == "" {
				got(t, chart, err, "1.0.0", s.archives["1.0.0"])
				return
			}
			refusedFor(t, err, reason, "charts.test")
		})
	}
	if files.count("index.yaml") != 3 || files.sawSecrets() {
		t.Errorf("other hosts got %d requests, want 3, and credentials: %t", files.count("index.yaml"), files.sawSecrets())
	}
	if inside.count("") != 0 {
		t.Error("what is near the manager was reached")
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func TestCredentialsThatARedirectLacksAreTold(t *testing.T) {
	w := newEnv(t)
	files := w.serve(guarded(http.NotFoundHandler()), "files.test", "files.charts.test")
	for _, host := range []string{"files.test", "files.charts.test"} {
		w.serve(redirect("https://"+host+"/index.yaml"), "charts.test")
		source := w.source(stable)
		source.Credentials = alice
		_, err := w.fetcher(Options{}).Fetch(t.Context(), source)
		refusedFor(t, err, AccessDenied, `"`+host+`" answered 401`, "credentials are sent to charts.test only")
	}
	if files.sawSecrets() {
		t.Error("the other host was sent credentials")
	}
}

func redirect(to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) }
}
