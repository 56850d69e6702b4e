// Package secretaccess keeps the manager to the Secrets of some namespaces of the management cluster, and tells apart why one
// cannot be read.
//
// A provider may bind the role that reads Secrets in the namespaces of customers alone, and name these in --secret-namespaces. Then
// three things stand between the controllers and the API server:
//
//   - The RoundTripper sends no request for Secrets of any other namespace, nor one for all namespaces. It turns an answer of
//     "forbidden" to a read into an *Error that says what is missing.
//   - Informers list and watch each namespace by itself. One that may not be listed counts as empty, so that the manager becomes ready
//     without it and all others are worked on. It is tried again, less and less often, and at once when somebody asks for it.
//   - The Client and the Reader return an *Error for a Secret of such a namespace. Empty caches would say that there is no Secret, and
//     whoever believed that would let go of what they know.
//
// An Access that is nil reads Secrets in all namespaces, and changes nothing.
package secretaccess
