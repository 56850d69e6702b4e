package backupcontent

import "encoding/base64"

// Location is the spec of a BackupStorageLocation of Velero's, at a prefix of the bucket. The credential names a Secret in
// Velero's namespace and a key of it.
func (s Storage) Location(prefix string, credential map[string]any) map[string]any {
	bucket := map[string]any{"bucket": s.Bucket, "prefix": prefix}
	if s.CA != "" {
		bucket["caCert"] = base64.StdEncoding.EncodeToString([]byte(s.CA))
	}
	config := map[string]any{"region": s.Region}
	if s.Endpoint != "" {
		// Services beside Amazon's have no names for buckets, and many do not know its newer checksums.
		config["s3Url"], config["s3ForcePathStyle"], config["checksumAlgorithm"] = s.Endpoint, "true", ""
	}
	if s.ChecksumAlgorithm != "" {
		config["checksumAlgorithm"] = s.ChecksumAlgorithm
	}
	return map[string]any{"provider": "aws", "objectStorage": bucket, "config": config, "credential": credential}
}
