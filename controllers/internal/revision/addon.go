package revision

// AddonContent is what a revision of a SaaSAddon holds.
type AddonContent struct {
	// Namespace for namespaced objects that name none.
	Namespace string `json:"namespace"`
	// CreateNamespace creates it where it is missing.
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// Sources in the order in which they are rendered.
	Sources []Source `json:"sources"`
}

// Size is how much text it holds, in bytes.
func (c AddonContent) Size() int {
	total := len(c.Namespace)
	for _, source := range c.Sources {
		total += len(source.Name) + len(source.Text)
	}
	return total
}

// Source is one text of YAML documents with Go templates in it.
type Source struct {
	// Name tells people where the text is from: "inline", or "configmap/<name>/<key>".
	Name string `json:"name"`
	// Text as it was written.
	Text string `json:"text"`
}
