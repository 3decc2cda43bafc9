// Package schema makes strict JSON schemas from Go types, in the form that
// providers accept as strict: an object whose properties are all required, with
// no others, optional ones as "anyOf" with null.
//
// It is a package of its own so that nobody links the reflector who asks no
// model. Source: deps-lab.md G.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/meminfra/memory-layer/meminfra/llm"
)

// For returns the strict schema of T, a struct. Fields go by their json tags;
// the jsonschema tags enum, description, minimum, maximum and nullable work.
// What may be missing is nullable: strict schemas know no other way. An error
// names a part that they cannot say: a map, an interface, a type that refers to
// itself, or a T that is no struct.
func For[T any](name string) (*llm.Schema, error) {
	t := reflect.TypeFor[T]()
	if err := check(t, nil); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema %s: %s is no struct", name, t)
	}
	r := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true}
	s := r.ReflectFromType(t)
	s.Version = ""
	tighten(s)
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return &llm.Schema{Name: name, JSON: b}, nil
}

// Must is For for package variables: it panics on an error, which a test of the
// package finds.
func Must[T any](name string) *llm.Schema {
	s, err := For[T](name)
	if err != nil {
		panic(err)
	}
	return s
}

// check refuses types that have no strict schema. path are the structs around t.
func check(t reflect.Type, path []reflect.Type) error {
	switch t.Kind() {
	case reflect.Map, reflect.Interface, reflect.Func, reflect.Chan:
		return fmt.Errorf("%s: strict schemas name every property", t)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return check(t.Elem(), path)
	case reflect.Struct:
		for _, outer := range path {
			if outer == t {
				return fmt.Errorf("%s refers to itself", t)
			}
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			if err := check(f.Type, append(path, t)); err != nil {
				return fmt.Errorf("%s.%w", f.Name, err)
			}
		}
	}
	return nil
}

// tighten turns the reflector's schema into a strict one: oneOf to anyOf, every
// property required.
func tighten(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.OneOf) > 0 {
		s.AnyOf, s.OneOf = append(s.AnyOf, s.OneOf...), nil
	}
	for _, inner := range s.AnyOf {
		tighten(inner)
	}
	tighten(s.Items)
	if s.Properties == nil {
		return
	}
	s.AdditionalProperties = jsonschema.FalseSchema
	s.Required = nil
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		s.Required = append(s.Required, p.Key)
		tighten(p.Value)
	}
}
