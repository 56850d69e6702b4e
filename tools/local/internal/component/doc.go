// Package component provides the programs and files that a local fleet is made
// of: downloaded, or built from their Go modules, once, then kept in the user's cache directory.
//
// Each component is a small Go module of its own below tools/local/components,
// whose go.mod and go.sum say exactly what is built. The cache is keyed by those
// two files, the Go version and the platform, so it never serves something
// else than what they describe. Programs that their publishers built from the
// same sources are downloaded rather than built, and kept apart from built ones.
// Prebuilt binaries can take the place of both. The one program that comes from the tools module itself, the provider of
// Cluster API, is keyed by its sources instead.
package component
