package precondition

// firstVersion is a resourceVersion that no object has: the first revision of etcd holds nothing.
const firstVersion = "1"

// OnlyNew makes an apply one that creates an object and changes none. The API server takes a resourceVersion in an apply as a
// condition where there is an object (409), and passes over it where there is none.
func OnlyNew(body []byte) ([]byte, error) { return setMetadata(body, "resourceVersion", firstVersion) }
