// Package assertion evaluates what people say that has to be true of objects in a cluster: expressions in the Common Expression
// Language (https://cel.dev), with the extensions for strings, lists, sets and mathematics of cel-go.
//
// An expression is from a customer and the objects are from their cluster, so its cost is limited, and nothing but its result
// is told: neither values of objects nor what an evaluation failed with, which may hold some.
package assertion

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// maxCost is how much one evaluation may cost, in cel-go's units: ten times what Kubernetes allows an expression of an
	// admission policy (PerCallLimit in k8s.io/apiserver/pkg/apis/cel), which is for one object, about a second.
	maxCost = 10_000_000
	// checkEvery is after how many steps of a comprehension an evaluation looks whether its time is over.
	checkEvery = 1000
)

// objectsVariable is what an expression calls the objects.
const objectsVariable = "objects"

// Assertion is an expression that can be evaluated. Use Compile.
type Assertion struct{ program cel.Program }

// Compile reads an expression of type bool over the list objects. The error says where it is wrong.
func Compile(expression string) (*Assertion, error) {
	environment, err := cel.NewEnv(
		cel.Variable(objectsVariable, cel.ListType(cel.MapType(cel.StringType, cel.DynType))),
		ext.Strings(), ext.Lists(), ext.Sets(), ext.Math(), cel.OptionalTypes(),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	checked, issues := environment.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if checked.OutputType() != cel.BoolType && checked.OutputType() != cel.DynType {
		return nil, fmt.Errorf("it is of type %s, and has to be a bool", checked.OutputType())
	}
	program, err := environment.Program(checked, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(checkEvery))
	return &Assertion{program: program}, err
}

// Holds evaluates the assertion. The error says what kind of thing went wrong, and no values.
func (a *Assertion) Holds(ctx context.Context, objects []*unstructured.Unstructured) (bool, error) {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = withoutSecrets(object).Object
	}
	result, details, err := a.program.ContextEval(ctx, map[string]any{objectsVariable: list})
	switch {
	case err != nil && ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil && details != nil && details.ActualCost() != nil && *details.ActualCost() > maxCost:
		return false, errors.New("it costs too much to evaluate: look at fewer objects, or at fewer fields of them")
	case err != nil:
		return false, errors.New("it cannot be evaluated: an object lacks a field that it names, or has a value of another type; ask with has() first")
	}
	holds, isBool := result.Value().(bool)
	if !isBool {
		return false, errors.New("it comes to something that is not a bool")
	}
	return holds, nil
}

// withoutSecrets is an object whose values are nobody's business: those of Secrets are empty.
func withoutSecrets(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object.GetKind() != "Secret" || object.GroupVersionKind().Group != "" {
		return object
	}
	object = object.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		values, _ := object.Object[field].(map[string]any)
		for key := range values {
			values[key] = ""
		}
	}
	return object
}
