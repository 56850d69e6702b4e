package assumerole

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/daytwo-dev/daytwo/internal/netguard"
)

// standIn is a stand-in for STS: it looks at what it is asked, and hands out credentials that nobody knows.
func standIn(t *testing.T, answer func(http.ResponseWriter, *http.Request)) (endpoint, ca string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(answer))
	t.Cleanup(server.Close)
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

const given = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>not-a-secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>%s</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>`

var anybody = &Minter{Guard: netguard.Guard{Rule: netguard.All}, Identity: credentials.NewStaticCredentialsProvider("AKIAEXAMPLE", "not-a-secret", "")}

func request(endpoint, ca string) Request {
	return Request{
		RoleARN: "arn:aws:iam::123456789012:role/backups", ExternalID: "daytwo:acme", Session: "acme/" + strings.Repeat("p", 80),
		Policy: Policy{Bucket: "acme-backups", Prefix: "daytwo/acme/nightly/1"}, Duration: 8 * time.Hour, Region: "eu-central-1", Endpoint: endpoint, CA: ca,
	}
}

func TestCredentialsAreMintedForAPrefix(t *testing.T) {
	expires := time.Now().Add(8 * time.Hour).UTC().Truncate(time.Second)
	var asked map[string]string
	endpoint, ca := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked = map[string]string{"signature": r.Header.Get("Authorization")}
		for key := range r.PostForm {
			asked[key] = r.PostForm.Get(key)
		}
		fmt.Fprintf(w, given, expires.Format(time.RFC3339))
	})
	minted, err := anybody.Mint(t.Context(), request(endpoint, ca))
	if err != nil {
		t.Fatal(err)
	}
	if minted.AccessKeyID != "ASIAEXAMPLE" || minted.SessionToken != "token" || !minted.ExpiresAt.Equal(expires) {
		t.Errorf("got %s, until %s", minted.AccessKeyID, minted.ExpiresAt)
	}
	for key, want := range map[string]string{
		"Action": "AssumeRole", "RoleArn": "arn:aws:iam::123456789012:role/backups", "ExternalId": "daytwo:acme", "DurationSeconds": "28800",
	} {
		if asked[key] != want {
			t.Errorf("%s is %q", key, asked[key])
		}
	}
	if len(asked["RoleSessionName"]) != maxSessionName || strings.Contains(asked["RoleSessionName"], "/") {
		t.Errorf("the session is %q", asked["RoleSessionName"])
	}
	if !strings.HasPrefix(asked["signature"], "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/") {
		t.Errorf("it is signed %q", asked["signature"])
	}
	if !json.Valid([]byte(asked["Policy"])) || !strings.Contains(asked["Policy"], "daytwo/acme/nightly/1") {
		t.Errorf("the session policy is %s", asked["Policy"])
	}
}

func TestWhatSTSRefusesIsToldWithoutItsWords(t *testing.T) {
	for name, row := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		says   string
	}{
		"a refusal": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>AccessDenied</Code><Message>leaked</Message></Error></ErrorResponse>`))
		}, "STS answers AccessDenied: see whether its trust policy permits Daytwo with the external ID daytwo:acme"},
		"an answer that never ends": {func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = w.Write([]byte(strings.Repeat("leaked ", 10_000)))
			}
		}, "does not answer as it should"},
		"an empty answer": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`<AssumeRoleResponse><AssumeRoleResult></AssumeRoleResult></AssumeRoleResponse>`))
		}, "holds no credentials"},
		"another place": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com/leaked", http.StatusFound)
		}, "STS"},
	} {
		endpoint, ca := standIn(t, row.answer)
		_, err := anybody.Mint(t.Context(), request(endpoint, ca))
		if err == nil || !strings.Contains(err.Error(), row.says) || strings.Contains(err.Error(), "leaked") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSTSAtAPrivateAddressIsRefused(t *testing.T) {
	endpoint, ca := standIn(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	guarded := &Minter{Guard: netguard.Guard{Rule: netguard.Public}, Identity: anybody.Identity}
	if _, err := guarded.Mint(t.Context(), request(endpoint, ca)); err == nil || !strings.Contains(err.Error(), "not on the Internet") {
		t.Errorf("got %v", err)
	}
}

func TestAMinterHasAnIdentityOfItsOwn(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAENVIRONMENT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
	signed := ""
	endpoint, ca := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		signed = r.Header.Get("Authorization")
		fmt.Fprintf(w, given, time.Now().UTC().Format(time.RFC3339))
	})
	if _, err := (&Minter{Guard: netguard.Guard{Rule: netguard.All}}).Mint(context.Background(), request(endpoint, ca)); err != nil || !strings.Contains(signed, "AKIAENVIRONMENT") {
		t.Errorf("signed %q, %v", signed, err)
	}
}

func TestSessionPolicies(t *testing.T) {
	text := func(p Policy) string { made, err := p.JSON(); return made + fmt.Sprint(err) }
	own := text(Policy{Bucket: "b", Prefix: "p"})
	for _, want := range []string{`"arn:aws:s3:::b/p/*"`, `"s3:prefix":["p","p/*"]`, `"s3:DeleteObject"`} {
		if !strings.Contains(own, want) {
			t.Errorf("a cluster's lacks %s: %s", want, own)
		}
	}
	if drills := text(Policy{Bucket: "b", Prefix: "p", ForDrills: true}); !strings.Contains(drills, `"s3:ListMultipartUploadParts"],"Resource":"arn:aws:s3:::b/p/restores/*"`) {
		t.Errorf("that of drills: %s", drills)
	}
	for _, never := range []string{"DeleteObjectVersion", "Bypass", "PutBucket", `"s3:*"`} {
		if strings.Contains(own, never) {
			t.Errorf("it has %s", never)
		}
	}
	if _, err := (Policy{Bucket: "b", Prefix: strings.Repeat("p", 500)}).JSON(); err == nil || !strings.Contains(err.Error(), "shorter spec.storage.prefix") {
		t.Errorf("a policy that is too long: %v", err)
	}
}
