package pages

// Classes of blocks: the words behind the opening fence.
const (
	// Commands are run by e2e against the local fleet, in the order of the pages; their make targets are tried without
	// being made.
	Commands = "sh"
	// CommandsOfClusterAPI are run by e2e/order, where Cluster API works.
	CommandsOfClusterAPI = "sh needs-cluster-api"
	// Manifests are complete, and e2e submits them to the management cluster as a dry run.
	Manifests = "yaml"
)

// notRun are the classes whose blocks no test runs, and why. The make targets in them are tried all the same.
var notRun = map[string]string{
	"sh needs-registry": "they push an image to a registry, and deploy what it serves",
	"sh needs-drills":   "they read the evidence of a drill, which e2e/backup does in its own way",
	"sh not-in-a-test":  "they are the tests",
	"text":              "pictures, and what programs print",

	"sh needs-prometheus-operator": "they apply a kind of that operator's, which the management cluster of e2e does not have",
	"yaml of-an-api-server":        "they are files that an API server reads when it starts, and no objects",
	"yaml needs-cert-manager":      "they are of cert-manager's kinds, which the management cluster of e2e does not have",
}

// Known tells whether blocks of the class are run by a test, or have a reason why not.
func Known(class string) bool {
	if _, ok := notRun[class]; ok {
		return true
	}
	return class == Commands || class == CommandsOfClusterAPI || class == Manifests
}
