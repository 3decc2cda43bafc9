package predicates_test

import (
	"fmt"

	"github.com/meminfra/memory-layer/predicates"
)

func ExampleRegistry_Value() {
	shown, id, ok := predicates.Default().Value("preferred database", " Postgres. ")
	fmt.Println(shown, id, ok)
	// Output: PostgreSQL postgresql true
}

func ExampleRegistry_Key() {
	fmt.Println(predicates.Default().Key("user", "ada", "programming_language", "c++"))
	// Output: user:ada:programming_language:c%2B%2B true
}

func ExampleRegistry_With() {
	reg, err := predicates.Default().With(predicates.Predicate{
		Name: "shoe_size", Cardinality: predicates.Single, Kind: "fact", Value: "number",
		Statements: []string{"my shoe size is {value:number}", "I wear size {value:number}"},
		Questions:  []string{"what is my shoe size"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(reg.Canonical("Shoe Size"))
	// Output: shoe_size true
}
