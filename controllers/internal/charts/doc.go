// Package charts fetches packed Helm charts for policies, from https:// repositories with an
// index.yaml and from oci:// registries.
//
// Whoever writes a policy chooses the server that the manager talks to, so every server is taken
// for a hostile one, and so is whoever chose it:
//
//   - Only https, with certificates always checked. Addresses that are not public are refused when a
//     connection is made, after the name was resolved, for redirects and token services as well.
//   - Credentials go to the host of the repository and to no other, whatever it redirects to.
//   - Every body is cut at a limit by the bytes that really came, after inflating. An index of any
//     size is read line by line: parsed as a whole, 32 MiB of it could take gigabytes.
//   - Everything ends with the timeout of the fetch, which leaves no connection and no goroutine.
//   - An archive has the digest that the index or the manifest announced, and the one that the
//     policy pins. It is never unpacked here.
//   - What the operator of the manager mirrors is read from a directory instead, and its repository is not
//     asked. That opens no other address and no other file to anybody.
//   - Errors name host, chart and version. They hold no credentials, and nothing from the body of an
//     error response, which could repeat them.
//
// A Fetcher blocks while it fetches; an AsyncFetcher is its face for reconcilers, which may not wait. It
// fetches in the background, a few at a time and fewer per host and tenant, and tells when a result
// is there.
//
// # Cache
//
// Archives are kept by digest, so that many policies with one chart download it once. A digest is
// no secret, so knowing one opens nothing: an archive is handed out only to a fetch that would have
// sent the very request it came from, and whose own index or manifest announced the digest.
package charts
