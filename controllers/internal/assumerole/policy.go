package assumerole

import (
	"encoding/json"
	"fmt"
)

// maxPolicy is how long a session policy may be, in characters (STS API reference, AssumeRole).
const maxPolicy = 2048

// Policy is what credentials may do in a bucket, below a prefix without slashes at its ends. None of it deletes a version of
// an object, or passes over an object lock.
type Policy struct {
	Bucket, Prefix string
	// ForDrills: they may read the prefix, and write below its "restores/" alone.
	ForDrills bool
}

// statement of a policy of AWS IAM.
type statement struct {
	Effect    string
	Action    []string
	Resource  string
	Condition any `json:",omitempty"`
}

// JSON is the session policy. It is an error if STS has no room for it.
func (p Policy) JSON() (string, error) {
	bucket := "arn:aws:s3:::" + p.Bucket
	objects := bucket + "/" + p.Prefix + "/"
	writing := []string{"s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"}
	writable := objects + "*"
	if p.ForDrills {
		writable = objects + "restores/*"
	}
	text, err := json.Marshal(struct {
		Version   string
		Statement []statement
	}{"2012-10-17", []statement{
		{"Allow", []string{"s3:ListBucket"}, bucket, map[string]any{"StringLike": map[string]any{"s3:prefix": []string{p.Prefix, p.Prefix + "/*"}}}},
		{"Allow", []string{"s3:GetObject"}, objects + "*", nil},
		{"Allow", writing, writable, nil},
	}})
	if err != nil {
		return "", err
	}
	if len(text) > maxPolicy {
		return "", fmt.Errorf("the session policy for %s in bucket %s has %d characters, and STS takes %d: choose a shorter spec.storage.prefix", p.Prefix, p.Bucket, len(text), maxPolicy)
	}
	return string(text), nil
}
